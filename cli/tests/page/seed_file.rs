//! The page on the file of a failing seed.

use crate::AXE;
use crate::page::{DESK, Look, PHONE, Page, element, page};
use crate::viewed::Viewed;
use krarup::prelude::*;
use krarup::testing::FailingSeed;

/// A name that would be markup.
const ODD: &str = "till <b>\"1\"</b>";

/// Keeps coins, and fails at a false one.
#[derive(Default)]
struct Till(u32);

impl Actor for Till {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, coin: u32) -> Result {
        if coin == 0 {
            return Err(Reason::error("a false coin"));
        }
        self.0 += coin;
        Ok(())
    }
}

/// Ten coins, of which the ninth is false.
fn ten_coins(sim: &Simulation) -> Result {
    let till = sim.spawn(Till::default).name(ODD).wait()?;
    for coin in [1, 2, 5, 1, 2, 5, 1, 2, 0, 5] {
        till.send(coin)?;
    }
    sim.run_until_idle();
    if till.is_alive() { Ok(()) } else { Err(Reason::error("the till is closed")) }
}

fn failing() -> FailingSeed {
    *Simulation::try_explore(7..8, ten_coins).unwrap_err()
}

/// What the page says of the place at which it is.
fn place(page: &mut Page) -> String {
    page.text_of("replay-step")
}

fn wait_for_place(page: &mut Page, place: &str) {
    page.wait(&format!("{}.innerText.startsWith({place:?})", element("replay-step")));
}

#[test]
fn v83_the_file_of_a_failing_seed_opens_in_the_page_and_steps_forwards_and_backwards() {
    let failing = failing();
    let steps = failing.last_steps().len();
    let Some(mut page) = page(DESK) else { return };
    let viewed = Viewed::start("seed", &failing.to_json());
    let url = |route: &str| format!("http://{}/{route}", viewed.address);
    page.open(&url(""));
    assert_eq!(page.text_of("replay-expression"), "Simulation::with_throughput(7, 1)");
    assert_eq!(page.text_of("replay-reason"), "the till is closed");
    assert_eq!(page.text_of("conn"), "file");
    assert!(!page.has("pause") && !page.has("nav-processes"), "there is no node to follow");

    // It begins where the failure is seen: at the last step.
    let last = place(&mut page);
    assert!(last.starts_with(&format!("Step {steps} of {steps}, at 0 s")), "{last}");
    let till = "replay-process-0";
    assert!(page.text_of("replay-now").contains("ends: a false coin"));
    let row = page.text_of(till);
    assert!(row.contains(ODD) && row.contains("ended") && row.contains("a false coin"), "{row}");
    page.screenshot("replay-1280x800");

    page.click("replay-back");
    wait_for_place(&mut page, &format!("Step {} of {steps}", steps - 1));
    assert!(page.text_of("replay-now").contains("has turn 10: 1 message"));
    let row = page.text_of(till);
    assert!(row.contains("lives") && !row.contains("a false coin"), "{row}");
    page.click("replay-back");
    wait_for_place(&mut page, &format!("Step {} of {steps}", steps - 2));
    page.click("replay-forward");
    page.click("replay-forward");
    wait_for_place(&mut page, &format!("Step {steps} of {steps}"));
    page.click("replay-forward");
    assert_eq!(place(&mut page), last, "there is nothing after the end");

    page.click("replay-first");
    wait_for_place(&mut page, "Before the first");
    page.wait(&format!("{} === null", element(till)));
    page.click("replay-forward");
    wait_for_place(&mut page, &format!("Step 1 of {steps}"));
    assert!(page.text_of("replay-now").contains("is spawned"));
    assert!(page.text_of(till).contains("lives"));
    page.click("replay-forward");
    wait_for_place(&mut page, &format!("Step 2 of {steps}"));
    assert!(page.text_of("replay-now").contains("has turn 1: 0 messages"), "it begins");
    page.click("replay-forward");
    wait_for_place(&mut page, &format!("Step 3 of {steps}"));
    let now = page.text_of("replay-now");
    assert!(now.contains("Code outside the processes sends u32 to") && now.contains(ODD), "{now}");

    // The address shows the same after a reload, and the keys do what the buttons do.
    page.wait("location.hash.includes('step=3')");
    page.reload();
    page.wait_for("replay-step");
    wait_for_place(&mut page, &format!("Step 3 of {steps}"));
    page.run(&format!("{}.focus()", element("replay-forward")));
    page.press("ArrowRight");
    wait_for_place(&mut page, &format!("Step 4 of {steps}"));
    page.press("ArrowLeft");
    page.press("ArrowLeft");
    page.press("ArrowLeft");
    wait_for_place(&mut page, &format!("Step 1 of {steps}"));
    page.run(&format!("{}.focus()", element("replay-place")));
    page.press("ArrowRight");
    wait_for_place(&mut page, &format!("Step 2 of {steps}"));

    assert!(page.requests.iter().all(|it| it.starts_with(&url(""))), "{:?}", page.requests);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
}

#[test]
fn v83_the_steps_of_one_process_are_stepped_alone_and_the_page_is_for_everybody() {
    let sim = Simulation::new(4);
    sim.keep_steps(5_000);
    let tills: Vec<_> = (0..120)
        .map(|n| sim.spawn(Till::default).name(format!("till {n}")).wait().unwrap())
        .collect();
    for till in tills.iter().cycle().take(1_200) {
        till.send(1).unwrap();
    }
    sim.run_until_idle();
    let steps = sim.last_steps().len();
    let Some(mut page) = page(DESK) else { return };
    let viewed = Viewed::start("seed-of-many", &sim.last_steps().to_json());
    let url = |route: &str| format!("http://{}/{route}", viewed.address);
    page.open(&url("#/replay?process=3"));
    page.wait_for("replay-all");
    page.click("replay-first");
    wait_for_place(&mut page, "Before the first");
    let now = |words: &str| format!("/{words}/.test({}?.innerText)", element("replay-now"));
    page.click("replay-forward");
    page.wait(&now("till 3 .* is spawned"));
    page.click("replay-forward");
    page.wait(&now("till 3 .* has turn "));
    page.click("replay-forward");
    page.wait(&now("sends u32 to till 3 "));
    page.click("replay-all");
    page.wait(&format!("{} === null", element("replay-all")));
    page.click("replay-last");
    wait_for_place(&mut page, &format!("Step {steps} of {steps}"));
    assert!(page.elements() <= 2_500.0, "few elements, however many steps");
    page.click("page-next");
    page.wait_for("replay-process-70");
    for look in [DESK, Look { dark: true, ..DESK }, PHONE] {
        page.look(look);
        page.open(&url("#/replay?step=700"));
        page.wait_for("replay-now");
        page.run(&format!("{AXE}; true"));
        let found = page.text(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then((result) => result.violations.map((one) => \
             one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')).join('\\n'))",
        );
        assert_eq!(found, "", "at {} px, dark: {}", look.width, look.dark);
        assert!(page.sideways() <= 0.0, "at {} px", look.width);
        let theme = if look.dark { "dark-" } else { "" };
        page.screenshot(&format!("replay-many-{theme}{}x{}", look.width, look.height));
    }
    assert!(page.errors.is_empty(), "{:?}", page.errors);
}
