//! Where a cookie comes from.

use crate::error::CookieFileError;
use krarup_wire::handshake::Cookie;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Reads the cookie of the user, `~/.erlang.cookie`, as Erlang does.
///
/// # Errors
/// [`CookieFileError`]; a file that others can read is refused.
pub fn cookie_from_home() -> Result<Cookie, CookieFileError> {
    let variable = "HOME";
    let home =
        env::var_os(variable).ok_or_else(|| CookieFileError::NoVariable(variable.to_owned()))?;
    cookie_from_file(&PathBuf::from(home).join(".erlang.cookie"))
}

/// Reads the cookie from an environment variable.
///
/// # Errors
/// [`CookieFileError`] if the variable is not set, or is no cookie.
pub fn cookie_from_env(variable: &str) -> Result<Cookie, CookieFileError> {
    let text = env::var(variable).map_err(|_| CookieFileError::NoVariable(variable.to_owned()))?;
    Ok(Cookie::new(text)?)
}

fn cookie_from_file(path: &Path) -> Result<Cookie, CookieFileError> {
    let path = || path.to_owned();
    let failed = |source| CookieFileError::Unreadable { path: path(), source };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path()).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(CookieFileError::Readable { path: path() });
        }
    }
    let text = fs::read_to_string(path()).map_err(failed)?;
    Ok(Cookie::new(text.trim_end())?)
}
