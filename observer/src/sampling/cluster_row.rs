//! The cluster in a picture: its connections, with what changed since the picture before.

use krarup_gen::{ClusterPicture, ConnectionGauges, KeptNode};
use std::collections::BTreeMap;
use std::time::Duration;

/// The cluster of the node at one moment.
#[derive(Debug)]
pub(crate) struct ClusterRow {
    pub(crate) picture: ClusterPicture,
    /// Of each connection of the picture, in its order.
    changes: Vec<ConnectionChanges>,
}

/// What changed of a connection since the picture before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ConnectionChanges {
    /// By second; none if the connection is new, or there was no picture.
    pub(crate) rates: Option<ConnectionRates>,
    /// Messages and calls that were refused.
    pub(crate) refused: u64,
    /// For how long it has had no room or has refused, in each picture.
    pub(crate) full: Option<Duration>,
}

/// What goes over a connection in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConnectionRates {
    pub(crate) bytes_in: f64,
    pub(crate) bytes_out: f64,
    pub(crate) messages_in: f64,
    pub(crate) messages_out: f64,
    pub(crate) refusals: f64,
}

impl ClusterRow {
    /// The row after another one and the time between both. Without time between them the changes
    /// are those that were known.
    pub(crate) fn new(
        picture: ClusterPicture,
        before: Option<(&ClusterRow, Duration)>,
        still: bool,
    ) -> Self {
        let (before, window) = before.unzip();
        // A cluster that was started again numbers its connections anew.
        let before = before.filter(|before| before.picture.number == picture.number);
        let known: BTreeMap<u64, _> = before
            .into_iter()
            .flat_map(ClusterRow::connections)
            .map(|(connection, changes)| (connection.number, (connection, changes)))
            .collect();
        let changes = picture.connections.iter().map(|now| {
            let known = known.get(&now.number).zip(window);
            let (changes, lasted) = match known {
                Some(((_, changes), _)) if still => return *changes,
                Some(((old, before), window)) => {
                    let lasted = before.full.map_or(Duration::ZERO, |full| full + window);
                    (ConnectionChanges::between(old, now, window), lasted)
                }
                None => (ConnectionChanges::default(), Duration::ZERO),
            };
            let is_full = now.waiting > picture.bound || changes.refused > 0;
            ConnectionChanges { full: is_full.then_some(lasted), ..changes }
        });
        let changes = changes.collect();
        ClusterRow { picture, changes }
    }

    /// The connections with what changed of them.
    pub(crate) fn connections(
        &self,
    ) -> impl Iterator<Item = (&ConnectionGauges, ConnectionChanges)> {
        self.picture.connections.iter().zip(self.changes.iter().copied())
    }

    /// The nodes that are kept and not connected.
    pub(crate) fn not_connected(&self) -> impl Iterator<Item = &KeptNode> {
        self.picture.kept.iter().filter(|kept| !kept.is_connected)
    }
}

impl ConnectionChanges {
    #[allow(clippy::cast_precision_loss, reason = "a rate is a rounded number")]
    fn between(before: &ConnectionGauges, now: &ConnectionGauges, window: Duration) -> Self {
        let more = |of: fn(&ConnectionGauges) -> u64| of(now).saturating_sub(of(before));
        let rate = |of| more(of) as f64 / window.as_secs_f64();
        ConnectionChanges {
            rates: Some(ConnectionRates {
                bytes_in: rate(|it| it.bytes_in),
                bytes_out: rate(|it| it.bytes_out),
                messages_in: rate(|it| it.messages_in),
                messages_out: rate(|it| it.messages_out),
                refusals: rate(|it| it.refusals),
            }),
            refused: more(|it| it.refusals),
            full: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::{NodeName, Pid, Timestamp};

    fn row(
        (cluster, connection): (u64, u64),
        messages: u64,
        before: Option<(&ClusterRow, Duration)>,
        still: bool,
    ) -> ClusterRow {
        let node = NodeName::new("b@h").unwrap();
        let gauges = ConnectionGauges::new(node, 5, Timestamp::ZERO).with(|it| {
            it.number = connection;
            it.messages_out = messages;
            it.refusals = messages / 2;
        });
        let picture = ClusterPicture::new(Pid::local(1, 1)).with(|it| {
            it.number = cluster;
            it.connections.push(gauges);
        });
        ClusterRow::new(picture, before, still)
    }

    fn changes(row: &ClusterRow) -> ConnectionChanges {
        row.connections().next().unwrap().1
    }

    #[test]
    fn v89_rates_are_of_one_connection_since_the_picture_before() {
        let window = Duration::from_secs(2);
        let first = row((1, 7), 10, None, false);
        assert_eq!(changes(&first), ConnectionChanges::default());
        let second = row((1, 7), 30, Some((&first, window)), false);
        let rates = changes(&second).rates.unwrap();
        assert_eq!((rates.messages_out, rates.refusals, rates.bytes_in), (10.0, 5.0, 0.0));
        assert_eq!(changes(&second).refused, 10);
        // While virtual time stands still they are those that were known.
        let third = row((1, 7), 31, Some((&second, window)), true);
        assert_eq!(changes(&third), changes(&second));
        // The node is connected again: its counters begin anew.
        let again = row((1, 8), 40, Some((&third, window)), false);
        assert_eq!(changes(&again), ConnectionChanges::default());
        // So do they when the cluster was started again, whose numbers begin anew.
        let again = row((2, 7), 40, Some((&third, window)), false);
        assert_eq!(changes(&again), ConnectionChanges::default());
    }
}
