//! Codecs: conversion between a stream of bytes and frames.

pub(crate) mod codec;
pub(crate) mod lines;
pub(crate) mod prefixed;
pub(crate) mod raw;
