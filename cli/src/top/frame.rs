//! The picture of the view: from what it knows to the cells of a screen. Pure.

use crate::figures::{bytes, count, duration, rate, share};
use crate::text::{fitted, printable};
use crate::top::columns::{COLUMNS, NARROW, ProcessColumn, name_width};
use crate::top::query::SORTS;
use crate::top::state::{TopLink, TopState};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use serde_json::Value;
use std::fmt::Write;

/// From this width on there are more columns.
const WIDE: u16 = 110;

/// Draws the view.
pub(crate) fn draw(frame: &mut Frame<'_>, top: &TopState) {
    let shares = top.shares();
    let lines = |count: usize| Constraint::Length(u16::try_from(count).unwrap_or(u16::MAX));
    let areas = Layout::vertical([
        lines(3),
        lines(shares.dispatchers),
        lines(1 + shares.findings),
        lines(2 + shares.processes),
        lines(1),
    ]);
    let [node, dispatchers, findings, processes, keys] = areas.areas(frame.area());
    draw_node(frame, node, top);
    draw_lines(frame, dispatchers, top, dispatcher_lines(top, shares.dispatchers));
    draw_lines(frame, findings, top, finding_lines(top, shares.findings));
    draw_processes(frame, processes, top);
    frame.render_widget(Paragraph::new(key_line(top)), keys);
}

/// Values that are not of now are dim.
fn age(top: &TopState) -> Style {
    if top.link() == TopLink::Live { Style::new() } else { Style::new().dim() }
}

fn draw_lines(frame: &mut Frame<'_>, area: Rect, top: &TopState, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines).style(age(top)), area);
}

fn draw_node(frame: &mut Frame<'_>, area: Rect, top: &TopState) {
    let node = &top.node;
    let number = |value: &Value| count(value.as_u64());
    let name = printable(node["node"].as_str().unwrap_or("no node yet"));
    let first = Line::from(vec![
        Span::raw("krarup  ").bold(),
        Span::raw(name).bold(),
        Span::raw(format!("  up {}", duration(node["uptime_ms"].as_f64()))),
        Span::raw(if node["stopping"] == true { "  stopping" } else { "" }),
    ]);
    let load = format!(
        "processes {}  in mailboxes {}  handled {}  CPU {}  memory {}",
        number(&node["processes"]["living"]),
        number(&node["messages"]["waiting"]),
        rate(top.handled_rate),
        share(top.cpu),
        bytes(node["os"]["resident_bytes"].as_u64()),
    );
    let failures = format!(
        "crashes {}  restarts {}  dead letters {}  deadlocks {}  timed-out calls {}",
        number(&node["crashes"]),
        number(&node["restarts"]),
        number(&node["dead_letters"]),
        number(&node["deadlocks"]),
        number(&node["calls_timed_out"]),
    );
    draw_lines(frame, area, top, vec![first, load.into(), failures.into()]);
    let link = link_span(&top.link(), usize::from(area.width));
    let width = u16::try_from(link.width()).unwrap_or(u16::MAX).min(area.width);
    let right = Rect { x: area.right() - width, width, height: area.height.min(1), ..area };
    frame.render_widget(Paragraph::new(Line::from(link)), right);
}

fn link_span(link: &TopLink, width: usize) -> Span<'static> {
    let ms = |silent: &std::time::Duration| duration(Some(silent.as_secs_f64().floor() * 1000.0));
    match link {
        TopLink::Opening => Span::raw(" connecting"),
        TopLink::Live => Span::raw(" live").green(),
        TopLink::Stale(silent) => Span::raw(format!(" stale for {}", ms(silent))).yellow(),
        TopLink::Offline(silent, why) => {
            let text = format!(" offline for {}: {why}", ms(silent));
            // The name of the node stays in sight.
            Span::raw(fitted(&text, width / 2)).red().bold()
        }
    }
}

fn dispatcher_lines(top: &TopState, most: usize) -> Vec<Line<'static>> {
    let all = top.node["dispatchers"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = if all.len() > most { most.saturating_sub(1) } else { all.len() };
    let line = |dispatcher: &Value| {
        let number = |field: &str| count(dispatcher[field].as_u64());
        let name = fitted(&printable(dispatcher["name"].as_str().unwrap_or_default()), 16);
        Line::raw(format!(
            "dispatcher {name}  {} workers  busy {}  queued {}  blocked {}",
            number("workers"),
            share(dispatcher["busy"].as_f64()),
            number("queued"),
            number("blocked"),
        ))
    };
    let mut lines: Vec<_> = all.iter().take(shown).map(line).collect();
    if all.len() > shown && most > 0 {
        lines.push(Line::raw(format!("and {} dispatchers more", all.len() - shown)));
    }
    lines
}

fn finding_lines(top: &TopState, most: usize) -> Vec<Line<'static>> {
    let Some(all) = top.findings["findings"].as_array() else {
        return vec![Line::raw("findings -").bold()];
    };
    if all.is_empty() {
        return vec![Line::raw("findings 0").bold(), Line::raw("nothing is wrong").green()];
    }
    let shown = if all.len() > most { most.saturating_sub(1) } else { all.len() };
    let mut lines = vec![Line::raw(format!("findings {}", all.len())).bold()];
    lines.extend(all.iter().take(shown).map(|finding| {
        let text = |field: &str| printable(finding[field].as_str().unwrap_or_default());
        let severity = text("severity");
        let colour = match severity.as_str() {
            "critical" => Color::Red,
            "warning" => Color::Yellow,
            _ => Color::Cyan,
        };
        Line::from(vec![
            Span::raw(format!("{severity:8} ")).fg(colour),
            Span::raw(text("code")),
            Span::raw(format!("  {}", text("text"))),
        ])
    }));
    if all.len() > shown && most > 0 {
        lines.push(Line::raw(format!("and {} more", all.len() - shown)));
    }
    lines
}

fn draw_processes(frame: &mut Frame<'_>, area: Rect, top: &TopState) {
    let rows = top.processes["processes"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = rows.len().min(top.shares().processes);
    let [heading, table] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(heading_line(top, shown)).style(age(top)), heading);
    let columns = if area.width < WIDE { &COLUMNS[..NARROW] } else { &COLUMNS[..] };
    let cell = |column: &ProcessColumn, text: String| {
        let side = if column.right { Alignment::Right } else { Alignment::Left };
        Cell::from(Line::raw(text).alignment(side))
    };
    let sorted = top.query.sort.name();
    let titles = columns.iter().map(|column| {
        let title = cell(column, column.title.to_owned());
        if column.name == sorted { title.underlined() } else { title }
    });
    let widths = columns.iter().map(|column| column.width);
    let names = name_width(area.width, columns);
    let lines = rows.iter().take(shown).map(|row| {
        Row::new(columns.iter().map(|column| {
            let text = (column.text)(row);
            let most =
                if let Constraint::Length(most) = column.width { most.into() } else { names };
            cell(column, fitted(&text, most))
        }))
    });
    let style = Style::new().bold().reversed();
    let table_widget = Table::new(lines, widths)
        .header(Row::new(titles).style(style))
        .column_spacing(1)
        .style(age(top));
    frame.render_widget(table_widget, table);
}

fn heading_line(top: &TopState, shown: usize) -> Line<'static> {
    let query = &top.query;
    let order = if query.ascends() { "ascending" } else { "descending" };
    let mut text = format!("processes by {}, {order}", query.sort.title());
    if let Some(matched) = top.processes["matched"].as_u64() {
        let offset = top.processes["offset"].as_u64().unwrap_or(0);
        let first = if shown == 0 { 0 } else { offset.saturating_add(1) };
        let last = offset.saturating_add(shown as u64);
        // Writing to a text cannot fail.
        let _ = write!(text, "  {first} to {last} of {}", count(Some(matched)));
    }
    if !query.filter.is_empty() && !top.typing {
        let _ = write!(text, "  with \"{}\"", printable(&query.filter));
    }
    let mut line = vec![Span::raw(text).bold()];
    if let Some(why) = top.refusal.as_ref().filter(|_| top.link() == TopLink::Live) {
        line.push(Span::raw(format!("  {why}")).red());
    }
    line.into()
}

fn key_line(top: &TopState) -> Line<'static> {
    if top.typing {
        let filter = printable(&top.query.filter);
        return Line::raw(format!("filter: {filter}_  Enter keeps it, Esc takes it away"));
    }
    let keys = SORTS.iter().map(|sort| format!("{} {}", sort.key, sort.title));
    let keys = keys.collect::<Vec<_>>().join(" ");
    Line::raw(format!("q quit r turn / filter {keys}")).dim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::query::SortColumn;
    use crate::top::screen::lines_of;
    use crate::top::state::{TopInput, TopKey, TopNews};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;
    use std::time::Duration;

    const NOW: Duration = Duration::from_secs(1);

    fn node(name: &str) -> Value {
        json!({
            "node": name, "started_at": "2026-01-01T00:00:00.000Z", "uptime_ms": 62_000.0,
            "stopping": false, "processes": { "living": 12_345 },
            "messages": { "waiting": 7, "handled": 100 }, "crashes": 3, "restarts": 2,
            "dead_letters": 1, "deadlocks": 0, "calls_timed_out": 4,
            "dispatchers": [{ "name": "default", "workers": 4, "busy": 0.25, "queued": 9, "blocked": 1 }],
            "os": { "cpu_ms": 1.0, "resident_bytes": 1_572_864 }, "sample": { "period_ms": 1000.0 },
        })
    }

    fn process(id: u64, name: Option<&str>, behavior: &str) -> Value {
        json!({
            "id": id, "pid": format!("<0.{id}.0>"), "name": name, "label": null,
            "behavior": behavior, "state": "scheduled", "main": 10_000 + id, "growth": 12.5,
            "cpu": 0.5, "handled_rate": 2000.0, "head_wait_ms": 1.0, "running_ms": 5.0,
        })
    }

    fn top(processes: &[Value], findings: &Value) -> TopState {
        let mut top = TopState::new(SortColumn::find("main").unwrap(), NOW, 24);
        top.apply(TopInput::News(TopNews::Node(node("shop@localhost"))), NOW);
        top.apply(TopInput::News(TopNews::Findings(json!({ "findings": findings }))), NOW);
        let body = json!({ "matched": processes.len(), "offset": 0, "processes": processes });
        top.apply(TopInput::News(TopNews::Processes(top.query.clone(), Ok(body))), NOW);
        top
    }

    fn drawn(top: &TopState, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, top)).unwrap();
        lines_of(terminal.backend().buffer())
    }

    #[test]
    fn v81_load_findings_and_processes_stand_in_80_by_24() {
        let findings = json!([
            { "code": "mailbox_full", "severity": "warning", "text": "stock is full" },
            { "code": "check_down", "severity": "critical", "text": "db is down" },
        ]);
        let processes: Vec<Value> = (1..=30)
            .map(|id| {
                let name = if id == 1 { Some("stock") } else { None };
                process(id, name, "app::stock::Stock<app::A>")
            })
            .collect();
        let lines = drawn(&top(&processes, &findings), 80, 24);
        assert_eq!(lines.len(), 24);
        assert!(lines.iter().all(|line| Span::raw(line.as_str()).width() <= 80));
        assert!(lines[0].starts_with("krarup  shop@localhost  up 1 min 2 s"), "{lines:#?}");
        assert!(lines[0].ends_with(" live"));
        assert_eq!(lines[1], "processes 12 345  in mailboxes 7  handled -  CPU -  memory 1.5 MiB");
        assert_eq!(
            lines[2],
            "crashes 3  restarts 2  dead letters 1  deadlocks 0  timed-out calls 4"
        );
        assert_eq!(lines[3], "dispatcher default  4 workers  busy 25 %  queued 9  blocked 1");
        assert_eq!(lines[4], "findings 2");
        assert_eq!(lines[5], "warning  mailbox_full  stock is full");
        assert_eq!(lines[6], "critical check_down  db is down");
        assert_eq!(lines[7], "processes by mailbox, descending  1 to 14 of 30");
        assert_eq!(
            lines[8],
            "PID         NAME                 STATE      MAILBOX    GROWTH     CPU    HANDLED"
        );
        assert_eq!(
            lines[9],
            "<0.1.0>     stock                scheduled   10 001     +13/s    50 %     2000/s"
        );
        assert!(
            lines[10].starts_with("<0.2.0>     Stock<app::A>        scheduled"),
            "{}",
            lines[10]
        );
        assert!(lines[22].starts_with("<0.14.0>"));
        assert!(lines[23].starts_with("q quit r turn / filter c CPU m mailbox"), "{}", lines[23]);
    }

    #[test]
    fn v81_what_is_old_says_so_and_stays() {
        let mut top = top(&[process(1, Some("stock"), "S")], &json!([]));
        let lost = TopNews::Lost("connection refused".to_owned());
        top.apply(TopInput::News(lost), Duration::from_secs(13));
        let lines = drawn(&top, 80, 24);
        assert!(lines[0].contains("shop@localhost"), "{lines:#?}");
        assert!(lines[0].ends_with("offline for 12 s: connection refused"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("stock")));
        assert_eq!(lines[4..6], ["findings 0", "nothing is wrong"]);
    }

    #[test]
    fn v81_every_size_is_drawn() {
        let top = top(&[process(1, Some("stock"), "S")], &json!([{}, {}, {}, {}, {}, {}, {}]));
        for (width, height) in [(1, 1), (1, 24), (80, 1), (10, 5), (80, 8), (200, 60)] {
            let mut top = TopState::new(top.query.sort, NOW, height);
            top.apply(TopInput::News(TopNews::Node(node("n"))), NOW);
            drawn(&top, width, height);
        }
        drawn(&top, 1, 1);
        let wide = drawn(&top, 200, 24);
        assert!(wide.iter().any(|line| line.ends_with("BEHAVIOUR") || line.contains("BEHAVIOUR")));
        assert!(wide.iter().any(|line| line == "and 3 more"), "{wide:#?}");
    }

    #[test]
    fn v24_texts_of_a_node_are_cells_and_nothing_else() {
        let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\r\n\t\u{8}\u{202e}\u{2067}\u{200f}x";
        let long = "\u{1b}".repeat(255);
        let rows = vec![
            process(1, Some(hostile), "S"),
            process(2, Some(&long), "S"),
            process(3, Some("東京東京東京東京東京東京"), "S"),
            process(4, Some("<script>\"'"), hostile),
            process(5, None, hostile),
        ];
        let findings = json!([{ "code": hostile, "severity": hostile, "text": hostile }]);
        let mut top = top(&rows, &findings);
        let mut strange = node(hostile);
        strange["dispatchers"][0]["name"] = json!(hostile);
        top.apply(TopInput::News(TopNews::Node(strange)), NOW);
        let refused = TopNews::Processes(top.query.clone(), Err(hostile.to_owned()));
        top.apply(TopInput::News(refused), NOW);
        for letter in format!("/{hostile}").chars() {
            top.apply(TopInput::Key(TopKey::Letter(letter)), NOW);
        }
        for lost in [false, true] {
            if lost {
                top.apply(TopInput::News(TopNews::Lost(hostile.to_owned())), NOW);
            }
            for width in [80, 200] {
                let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
                terminal.draw(|frame| draw(frame, &top)).unwrap();
                let cells = &terminal.backend().buffer().content;
                for cell in cells {
                    assert_eq!(printable(cell.symbol()), cell.symbol());
                }
                let lines = lines_of(terminal.backend().buffer());
                assert!(
                    lines.iter().all(|line| Span::raw(line.as_str()).width() <= usize::from(width))
                );
            }
        }
    }
}
