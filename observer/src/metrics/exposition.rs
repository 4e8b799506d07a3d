//! Families of metrics and their text.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use std::fmt;

/// The type of the answer.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

/// A value of a series.
#[derive(Clone, Debug)]
enum SeriesValue {
    Whole(u64),
    Real(f64),
    Info,
    /// The sum, the count, and the count of each bucket alone.
    Histogram(f64, u64, Vec<(f64, u64)>),
}

impl SeriesValue {
    fn encode(&self, kind: MetricType, series: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
        const NONE: Option<&Exemplar<Labels, f64>> = None;
        match (self, kind) {
            (SeriesValue::Whole(value), MetricType::Counter) => series.encode_counter(value, NONE),
            (SeriesValue::Real(value), MetricType::Counter) => series.encode_counter(value, NONE),
            (SeriesValue::Whole(value), _) => series.encode_gauge(value),
            (SeriesValue::Real(value), _) => series.encode_gauge(value),
            (SeriesValue::Histogram(sum, count, buckets), _) => {
                series.encode_histogram::<Labels>(*sum, *count, buckets, None)
            }
            (SeriesValue::Info, _) => Ok(()),
        }
    }
}

/// A family: series of one name and type.
#[derive(Clone, Debug)]
pub(crate) struct MetricFamily {
    /// Without the ending `_total` or `_info`.
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    series: Vec<(Labels, SeriesValue)>,
}

impl MetricFamily {
    pub(crate) fn gauge(name: &'static str, help: &'static str) -> Self {
        MetricFamily { name, help, kind: MetricType::Gauge, series: Vec::new() }
    }

    pub(crate) fn counter(name: &'static str, help: &'static str) -> Self {
        MetricFamily { kind: MetricType::Counter, ..MetricFamily::gauge(name, help) }
    }

    pub(crate) fn histogram(name: &'static str, help: &'static str) -> Self {
        MetricFamily { kind: MetricType::Histogram, ..MetricFamily::gauge(name, help) }
    }

    pub(crate) fn info(name: &'static str, help: &'static str, labels: Labels) -> Self {
        let series = vec![(labels, SeriesValue::Info)];
        MetricFamily { kind: MetricType::Info, series, ..MetricFamily::gauge(name, help) }
    }

    /// Adds a series with a whole number.
    pub(crate) fn whole(self, value: u64) -> Self {
        self.labelled(&[], value)
    }

    /// Adds a series with a real number.
    pub(crate) fn real(mut self, value: f64) -> Self {
        self.series.push((Vec::new(), SeriesValue::Real(value)));
        self
    }

    /// Adds a series with labels and a whole number.
    pub(crate) fn labelled(mut self, labels: &[(&'static str, &str)], value: u64) -> Self {
        self.push(labels, SeriesValue::Whole(value));
        self
    }

    /// Adds a series with labels and a real number.
    pub(crate) fn labelled_real(mut self, labels: &[(&'static str, &str)], value: f64) -> Self {
        self.push(labels, SeriesValue::Real(value));
        self
    }

    /// Adds a histogram. `at_most` has the bounds, and how many values were at most so large.
    pub(crate) fn observed(
        mut self,
        labels: &[(&'static str, &str)],
        sum: f64,
        count: u64,
        at_most: impl IntoIterator<Item = (f64, u64)>,
    ) -> Self {
        let mut before = 0;
        let mut buckets = Vec::new();
        for (bound, below) in at_most {
            // Read while it grows, a later bucket can be smaller than one before.
            let below = below.clamp(before, count.max(before));
            buckets.push((bound, below - before));
            before = below;
        }
        let count = count.max(before);
        buckets.push((f64::INFINITY, count - before));
        self.push(labels, SeriesValue::Histogram(sum, count, buckets));
        self
    }

    fn push(&mut self, labels: &[(&'static str, &str)], sample: SeriesValue) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.series.push((labels, sample));
    }
}

/// The text of these families, and of further ones whose text is there. They may be in any order; no
/// two have the same name.
pub(crate) fn text(families: Vec<MetricFamily>, further: &str) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposition(families)));
    let mut text = String::new();
    text::encode_registry(&mut text, &registry)?;
    text.push_str(further);
    text::encode_eof(&mut text)?;
    Ok(text)
}

#[derive(Debug)]
struct Exposition(Vec<MetricFamily>);

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let mut family_encoder =
                encoder.encode_descriptor(family.name, family.help, None, family.kind)?;
            for (labels, sample) in &family.series {
                if let SeriesValue::Info = sample {
                    family_encoder.encode_info(labels)?;
                    continue;
                }
                if labels.is_empty() {
                    sample.encode(family.kind, &mut family_encoder)?;
                } else {
                    sample.encode(family.kind, &mut family_encoder.encode_family(labels)?)?;
                }
            }
        }
        Ok(())
    }
}
