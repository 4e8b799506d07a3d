//! A job whose name, times, zone and work have been looked at.

use crate::error::AddJobError;
use crate::job::{Job, JobRules, JobWhen, JobWork};
use crate::pattern::{RunTimes, date_of_one_run, parse_zone};
use chrono_tz::Tz;
use krarup_gen::Name;
use std::time::SystemTime;

pub(crate) struct CheckedJob {
    pub(crate) name: String,
    pub(crate) times: RunTimes,
    pub(crate) rules: JobRules,
    pub(crate) since: Option<SystemTime>,
    pub(crate) work: Box<dyn JobWork>,
}

impl CheckedJob {
    /// Looks at a job. Its pattern is of the zone `default` if it names none.
    ///
    /// # Errors
    /// What is wrong with the job itself. Whether its name is taken, and its time ever comes, is the
    /// cron's to say.
    pub(crate) fn new(job: Job, default: Tz) -> Result<Self, AddJobError> {
        let Job { name, when, zone, rules, since, work } = job;
        if let Err(cause) = Name::new(&name) {
            return Err(AddJobError::InvalidName { name, cause });
        }
        let zone = match zone.as_deref().map(parse_zone) {
            None => default,
            Some(Ok(zone)) => zone,
            Some(Err(cause)) => return Err(AddJobError::UnknownZone { name, cause }),
        };
        let times = match when {
            JobWhen::Pattern(text) => RunTimes::pattern(&name, &text, zone)?,
            JobWhen::Once(at) => match date_of_one_run(at) {
                Ok(date) => RunTimes::Once(date),
                Err(times) => return Err(AddJobError::NeverComes { name, times }),
            },
        };
        let Some(work) = work else { return Err(AddJobError::NoWork { name }) };
        if let Some(receiver) = work.receiver()
            && let Err(cause) = Name::new(receiver)
        {
            let receiver = receiver.to_owned();
            return Err(AddJobError::InvalidReceiver { name, receiver, cause });
        }
        Ok(CheckedJob { name, times, rules, since, work })
    }
}
