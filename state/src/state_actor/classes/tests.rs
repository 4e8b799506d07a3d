//! Tests of the order of the classes against a model that sorts (M22 to M24).

use crate::state_actor::classes::*;
use crate::table::Table;
use proptest::prelude::*;

/// A test message: its number, and the results of the filters for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TestLetter {
    number: u32,
    barrier: bool,
    batch: bool,
}

struct Filters(usize);

impl Sorting<TestLetter, TestLetter> for Filters {
    fn is_barrier(&self, ask: &TestLetter) -> bool {
        ask.barrier
    }

    fn batches_ask(&self, ask: &TestLetter) -> bool {
        ask.batch
    }

    fn batches_notice(&self, notice: &TestLetter) -> bool {
        notice.batch
    }

    fn most(&self) -> usize {
        self.0
    }
}

type TestedClasses = Classes<u32, u32, TestLetter, TestLetter, u32>;

#[derive(Clone, Debug)]
enum ClassesStep {
    /// An item of this class arrives.
    Come { class: usize, barrier: bool, batch: bool },
    /// The next item is taken. If it begins, it stays in flight.
    Take,
    /// One of the handlers in flight ends.
    End(prop::sample::Index),
    /// The limit of handlers in flight is reached, or not any more.
    Busy(bool),
}

fn steps() -> impl Strategy<Value = Vec<ClassesStep>> {
    let step = prop_oneof![
        4 => (0..5_usize, prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(class, barrier, batch)| ClassesStep::Come { class, barrier, batch }),
        3 => Just(ClassesStep::Take),
        2 => any::<prop::sample::Index>().prop_map(ClassesStep::End),
        1 => any::<bool>().prop_map(ClassesStep::Busy),
    ];
    prop::collection::vec(step, 1..120)
}

/// The required behaviour in its simplest form: all waiting items are in one list, in the
/// order of arrival.
#[derive(Default)]
struct ClassesModel {
    waiting: Vec<(usize, TestLetter)>,
    barrier: Option<TableKey>,
    busy: bool,
}

impl ClassesModel {
    /// The next items: their class and their messages.
    fn next(&mut self, most: usize) -> Option<(usize, Vec<TestLetter>)> {
        let may_begin = self.barrier.is_none() && !self.busy;
        let allowed = |class: usize| may_begin || !(class == 2 || class == 3);
        let class =
            self.waiting.iter().map(|(class, _)| *class).filter(|class| allowed(*class)).min()?;
        let queue: Vec<TestLetter> =
            self.waiting.iter().filter(|(of, _)| *of == class).map(|(_, item)| *item).collect();
        let in_batch = |item: &TestLetter| item.batch && !(class == 2 && item.barrier);
        let together = if (class == 2 || class == 3) && in_batch(&queue[0]) {
            queue.iter().take(most.max(1)).take_while(|item| in_batch(item)).count()
        } else {
            1
        };
        let taken: Vec<TestLetter> = queue[..together].to_vec();
        self.waiting.retain(|(_, item)| !taken.contains(item));
        Some((class, taken))
    }
}

/// Takes the next item: its class, its numbers, and whether it is a barrier or a batch.
fn take(classes: &mut TestedClasses, most: usize) -> Option<(usize, Vec<u32>, bool, bool)> {
    let letters = |queue: &mut VecDeque<TestLetter>, count| {
        queue.drain(..count).map(|item| item.number).collect()
    };
    Some(match classes.next(&Filters(most))? {
        NextItem::Reply => (0, classes.replies.drain(..1).collect(), false, false),
        NextItem::Exception => (1, classes.exceptions.drain(..1).collect(), false, false),
        NextItem::Ask => (2, letters(&mut classes.asks, 1), false, false),
        NextItem::Barrier => (2, letters(&mut classes.asks, 1), true, false),
        NextItem::Asks(count) => (2, letters(&mut classes.asks, count), false, true),
        NextItem::Notice => (3, letters(&mut classes.notices, 1), false, false),
        NextItem::Notices(count) => (3, letters(&mut classes.notices, count), false, true),
        NextItem::Event => (4, classes.events.drain(..1).collect(), false, false),
    })
}

proptest! {
    /// Items arrive, begin and end in any order. The next item is always the first of the
    /// first class that may begin (M23). A barrier holds until its own handler has ended, and
    /// no longer (M22). Batches and single items together keep the order of arrival (M24).
    #[test]
    fn o2_o3_o4_the_next_item_matches_the_model(steps in steps(), most in 0..4_usize) {
        let mut classes = TestedClasses::default();
        let mut model = ClassesModel::default();
        let mut handlers = Table::default();
        let mut flying: Vec<TableKey> = Vec::new();
        let mut arrived: Vec<Vec<u32>> = vec![Vec::new(); 5];
        let mut begun: Vec<Vec<u32>> = vec![Vec::new(); 5];
        for (number, step) in (0_u32..).zip(steps) {
            match step {
                ClassesStep::Come { class, barrier, batch } => {
                    let item = TestLetter { number, barrier, batch };
                    match class {
                        0 => classes.replies.push_back(number),
                        1 => classes.exceptions.push_back(number),
                        2 => classes.asks.push_back(item),
                        3 => classes.notices.push_back(item),
                        _ => classes.events.push_back(number),
                    }
                    arrived[class].push(number);
                    model.waiting.push((class, item));
                }
                ClassesStep::Take => {
                    let next = take(&mut classes, most);
                    let expected = model.next(most);
                    let Some((class, numbers, barrier, batch)) = next else {
                        prop_assert!(expected.is_none(), "nothing came, and not {expected:?}");
                        continue;
                    };
                    let Some((of, items)) = expected else {
                        return Err(TestCaseError::fail("something came out of nothing"));
                    };
                    prop_assert_eq!(class, of);
                    let wanted: Vec<u32> = items.iter().map(|item| item.number).collect();
                    prop_assert_eq!(&numbers, &wanted);
                    prop_assert_eq!(barrier, class == 2 && items[0].barrier);
                    let is_letter = class == 2 || class == 3;
                    prop_assert_eq!(batch, is_letter && items[0].batch && !barrier);
                    begun[class].extend(numbers);
                    let key = handlers.insert_with(|_| ());
                    flying.push(key);
                    if barrier {
                        classes.raise(key);
                        model.barrier = Some(key);
                    }
                }
                ClassesStep::Busy(busy) => {
                    classes.set_busy(busy);
                    model.busy = busy;
                    prop_assert_eq!(classes.may_begin(), model.barrier.is_none() && !busy);
                }
                ClassesStep::End(which) => {
                    if flying.is_empty() {
                        continue;
                    }
                    let key = flying.remove(which.index(flying.len()));
                    classes.lower(key);
                    model.barrier.take_if(|barrier| *barrier == key);
                    prop_assert_eq!(classes.has_barrier(), model.barrier.is_some());
                }
            }
        }
        // When all that began has ended, all waiting items come out without a new arrival.
        for key in flying.drain(..) {
            classes.lower(key);
        }
        classes.set_busy(false);
        while let Some((class, numbers, barrier, _)) = take(&mut classes, most) {
            begun[class].extend(numbers);
            if barrier {
                let key = handlers.insert_with(|_| ());
                classes.raise(key);
                classes.lower(key);
            }
        }
        prop_assert_eq!(begun, arrived);
        prop_assert_eq!(classes.messages(), 0);
    }
}

#[test]
fn o3_the_end_of_another_handler_does_not_remove_the_barrier() {
    let mut classes = TestedClasses::default();
    let mut handlers = Table::default();
    let (older, barrier) = (handlers.insert_with(|_| ()), handlers.insert_with(|_| ()));
    classes.raise(barrier);
    classes.asks.push_back(TestLetter { number: 1, barrier: false, batch: false });
    classes.lower(older);
    assert_eq!(classes.next(&Filters(1)), None);
    classes.lower(barrier);
    assert!(matches!(classes.next(&Filters(1)), Some(NextItem::Ask)));
}

#[test]
fn o7_closed_classes_start_no_ask_and_no_notice() {
    let mut classes = TestedClasses::default();
    let item = TestLetter { number: 1, barrier: false, batch: false };
    classes.asks.push_back(item);
    classes.notices.push_back(item);
    classes.events.push_back(2);
    classes.close();
    assert_eq!(take(&mut classes, 1), Some((4, vec![2], false, false)));
    assert_eq!(classes.next(&Filters(1)), None);
    assert_eq!(classes.messages(), 2);
}
