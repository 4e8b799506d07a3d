//! Applications with settings: from the file of the node, or from the program (rule A11).

use crate::applications::application::Application;
use crate::applications::configuring::ConfigureError;
use crate::applications::error::ApplicationError;
use crate::error::NodeError;
use crate::settings::{ApplicationSettings, read_settings};
use krarup_act::{Behavior, Spawn};
use krarup_gen::{Reason, SpawnError};
use serde::de::DeserializeOwned;
use std::any::type_name;
use std::sync::{Arc, OnceLock};

impl Application {
    /// Makes an application with settings (feature `settings`). They come from the table
    /// `[application.<name>.settings]` of the settings of the node, and are read with serde when
    /// the node is built: a key that is missing and has no default, one that `S` does not have and
    /// a value of a wrong type are a [`SettingsError`] with file, line and key, before a thread is
    /// started. Each start of the application gets a copy of the same value.
    ///
    /// ```
    /// # use krarup_act::{behavior_fn, Behavior, Context};
    /// # use krarup_node::{Application, NodeBuilder};
    /// #[derive(Clone, serde::Deserialize)]
    /// struct ShopSettings { port: u16, #[serde(default)] motto: String }
    ///
    /// # fn tree(settings: ShopSettings) -> impl Behavior { behavior_fn(|mut ctx: Context<()>| async move {
    /// #     ctx.receive().await;
    /// #     Ok(())
    /// # }) }
    /// # fn main() -> krarup_gen::Result {
    /// let file = "node.name = 'shop@localhost'\n[application.shop.settings]\nport = 'http'";
    /// let error = NodeBuilder::from_toml(file)?
    ///     .application(Application::configured("shop", tree))
    ///     .start()
    ///     .unwrap_err();
    /// let said = "line 3: application.shop.settings.port cannot be the text \"http\" (expected u16)";
    /// assert_eq!(error.to_string(), said);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`SettingsError`]: crate::SettingsError
    pub fn configured<S, B, F>(name: impl Into<String>, top: F) -> Self
    where
        S: DeserializeOwned + Clone + Send + Sync + 'static,
        B: Behavior,
        F: Fn(S) -> B + Send + Sync + 'static,
    {
        let (top, settings) = (Arc::new(top), Arc::new(OnceLock::<S>::new()));
        let read = Arc::clone(&settings);
        let mut application = Self::with_top(name.into(), move |host| {
            // They are there: a node is not built without them.
            let settings = settings.get().cloned();
            let settings =
                settings.ok_or_else(|| SpawnError::Init(Reason::error("no settings")))?;
            let top = Arc::clone(&top);
            let (_, init) = Spawn::outside(host, move || top(settings)).begin()?;
            Ok(Box::pin(init))
        });
        application.configure = Some(Box::new(move |name, said, given| {
            let value = match given {
                Some(given) => match given.downcast::<S>() {
                    Ok(value) => *value,
                    Err(_) => return Err(ConfigureError::WrongType(type_name::<S>())),
                },
                None => read_settings(said, name).map_err(ConfigureError::Settings)?,
            };
            let _ = read.set(value);
            Ok(())
        }));
        application
    }

    /// Sets the settings of a [`configured`](Self::configured) application in the program (feature
    /// `settings`). They replace those of the file as a whole, which are not read then.
    pub fn settings<S: Send + Sync + 'static>(mut self, settings: S) -> Self {
        self.given = Some(Box::new(settings));
        self
    }
}

/// Gives all applications their settings.
pub(crate) fn configure(
    applications: &mut [Application],
    said: &ApplicationSettings,
) -> Result<(), NodeError> {
    for application in &mut *applications {
        let name = application.name().to_owned();
        let given = application.given.take();
        let is_given = given.is_some();
        let Some(configure) = application.configure.take() else {
            if is_given {
                return Err(ApplicationError::NoSettings(name).into());
            }
            continue;
        };
        application.is_configured = true;
        configure(&name, said, given).map_err(|error| match error {
            ConfigureError::Settings(error) => NodeError::from(error),
            ConfigureError::WrongType(takes) => {
                ApplicationError::WrongSettings { application: name, takes }.into()
            }
        })?;
    }
    let known = applications.iter().filter(|application| application.is_configured);
    let known: Vec<_> = known.map(Application::name).collect();
    said.check_names(&known)?;
    Ok(())
}
