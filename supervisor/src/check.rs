//! Validates specifications, as a whole and before any child is started (rule B1).

use crate::error::SpecError;
use crate::spec::{AutoShutdown, ChildRules, RestartType, Strategy, SupervisorFlags};
use krarup_gen::Name;
use std::collections::HashSet;

impl ChildRules {
    /// Checks whether such a child is valid under a supervisor with these settings.
    pub(crate) fn check(&self, flags: &SupervisorFlags) -> Result<(), SpecError> {
        let SupervisorFlags { strategy, auto_shutdown, .. } = *flags;
        let is_group = matches!(strategy, Strategy::OneForAll | Strategy::RestForOne);
        let id = || self.id.clone();
        if self.significant && auto_shutdown == AutoShutdown::Never {
            Err(SpecError::SignificantWithoutAutoShutdown { id: id() })
        } else if self.significant && self.restart == RestartType::Permanent {
            Err(SpecError::SignificantPermanent { id: id() })
        } else if let Some(Err(error)) = self.name.as_ref().map(Name::new) {
            Err(SpecError::InvalidName { id: id(), error })
        } else if self.mailbox == Some(0) {
            Err(SpecError::ZeroMailbox { id: id() })
        } else if let Some(Err(error)) = self.back_off.map(|back_off| back_off.check()) {
            Err(SpecError::BackOff { id: id(), error })
        } else if self.in_place && is_group {
            Err(SpecError::InPlaceInGroup { id: id(), strategy })
        } else if self.in_place && self.back_off.is_some() {
            Err(SpecError::BackOffInPlace { id: id() })
        } else {
            Ok(())
        }
    }
}

impl SupervisorFlags {
    /// Checks the flags and the specs of the children before any child is started.
    pub(crate) fn check<'a>(
        &self,
        children: impl IntoIterator<Item = &'a ChildRules>,
    ) -> Result<(), SpecError> {
        let SupervisorFlags { strategy, auto_shutdown, .. } = *self;
        if self.period.is_zero() {
            return Err(SpecError::ZeroPeriod);
        }
        // OTP 25 accepts this; from 27 on it is refused, because it has no meaning.
        if strategy == Strategy::SimpleOneForOne && auto_shutdown != AutoShutdown::Never {
            return Err(SpecError::AutoShutdownOfSimpleOneForOne { auto_shutdown });
        }
        if let Some(limit) = self.max_children
            && strategy != Strategy::SimpleOneForOne
        {
            return Err(SpecError::MaxChildren { limit, strategy });
        }
        let mut ids = HashSet::new();
        for child in children {
            child.check(self)?;
            if !ids.insert(&child.id) {
                return Err(SpecError::DuplicateId { id: child.id.clone() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::back_off::{BackOff, BackOffError};
    use crate::spec::ChildKind;
    use krarup_gen::NameError;
    use std::time::Duration;

    fn with(auto_shutdown: AutoShutdown) -> SupervisorFlags {
        SupervisorFlags { auto_shutdown, ..SupervisorFlags::new(Strategy::OneForOne) }
    }

    fn rules(id: &str) -> ChildRules {
        ChildRules::new(id.into(), ChildKind::Worker, "test")
    }

    #[test]
    fn b1_a_significant_child_needs_auto_shutdown_and_must_not_be_permanent() {
        let mut child = rules("a");
        child.significant = true;
        let never = SpecError::SignificantWithoutAutoShutdown { id: "a".into() };
        assert_eq!(child.check(&with(AutoShutdown::Never)), Err(never));
        let permanent = SpecError::SignificantPermanent { id: "a".into() };
        assert_eq!(child.check(&with(AutoShutdown::AnySignificant)), Err(permanent));
        child.restart = RestartType::Transient;
        assert_eq!(child.check(&with(AutoShutdown::AllSignificant)), Ok(()));
    }

    #[test]
    fn b1_a_child_has_a_name_that_can_be_one_or_none() {
        for (bytes, refused) in [
            (0, Some(NameError::Empty)),
            (1, None),
            (255, None),
            (256, Some(NameError::TooLong { bytes: 256 })),
        ] {
            let child = ChildRules { name: Some("x".repeat(bytes)), ..rules("a") };
            let refused = refused.map(|error| SpecError::InvalidName { id: "a".into(), error });
            assert_eq!(child.check(&with(AutoShutdown::Never)).err(), refused);
        }
        assert_eq!(rules("a").check(&with(AutoShutdown::Never)), Ok(()));
    }

    #[test]
    fn b1_a_child_that_is_restarted_in_place_is_restarted_alone_and_at_once() {
        let child = ChildRules { in_place: true, ..rules("a") };
        for strategy in [Strategy::OneForOne, Strategy::SimpleOneForOne] {
            assert_eq!(child.check(&SupervisorFlags::new(strategy)), Ok(()));
        }
        for strategy in [Strategy::OneForAll, Strategy::RestForOne] {
            let error = SpecError::InPlaceInGroup { id: "a".into(), strategy };
            assert_eq!(child.check(&SupervisorFlags::new(strategy)), Err(error));
        }
        let second = Duration::from_secs(1);
        let child = ChildRules { back_off: Some(BackOff::new(second, second)), ..child };
        let error = SpecError::BackOffInPlace { id: "a".into() };
        assert_eq!(child.check(&with(AutoShutdown::Never)), Err(error));
    }

    #[test]
    fn b1_a_childs_back_off_has_a_meaning() {
        let back_off = Some(BackOff::new(Duration::ZERO, Duration::ZERO));
        let child = ChildRules { back_off, ..rules("a") };
        let error = SpecError::BackOff { id: "a".into(), error: BackOffError::ZeroMin };
        assert_eq!(child.check(&with(AutoShutdown::Never)), Err(error));
    }

    #[test]
    fn b1_an_invalid_supervisor_is_refused_before_any_start() {
        let flags = SupervisorFlags::new(Strategy::OneForOne);
        assert_eq!(flags.check(&[rules("a"), rules("b")]), Ok(()));
        let duplicate = SpecError::DuplicateId { id: "a".into() };
        assert_eq!(flags.check(&[rules("a"), rules("b"), rules("a")]), Err(duplicate));
        let zero = SupervisorFlags { period: Duration::ZERO, ..flags };
        assert_eq!(zero.check([]), Err(SpecError::ZeroPeriod));
        for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
            let limited = SupervisorFlags { strategy, max_children: Some(3), ..flags };
            assert_eq!(limited.check([]), Err(SpecError::MaxChildren { limit: 3, strategy }));
        }
        for auto_shutdown in [AutoShutdown::AnySignificant, AutoShutdown::AllSignificant] {
            let simple =
                SupervisorFlags { strategy: Strategy::SimpleOneForOne, auto_shutdown, ..flags };
            let refused = SpecError::AutoShutdownOfSimpleOneForOne { auto_shutdown };
            assert_eq!(simple.check([]), Err(refused));
            assert_eq!(with(auto_shutdown).check([]), Ok(()));
        }
    }
}
