"""The page in a browser: $CHROMIUM, or chromium where it is installed; skipped without one."""

import os
import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: CHROMIUM=/path/to/chromium")
TEXT = "😀 The house is in the garden. The tree is by the river."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        arguments = ["--no-sandbox", "--no-zygote", "--headless=shell"]
        launched = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    """The page, where nothing may be written to the console as an error."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and "503" not in message.text:  # a test answers so on purpose
            problems.append(message.text)

    opened.on("console", note)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(server)
    opened.set_default_timeout(20_000)
    yield opened
    context.close()
    assert not problems


def translated(page: Page, text: str = TEXT) -> None:
    page.get_by_role("combobox", name="From").select_option("en")
    page.get_by_role("textbox", name="Text").press_sequentially(text, delay=2)
    expect(page.locator("#target .word").first).to_be_visible()
    expect(page.locator("#target")).not_to_have_attribute("aria-busy", "true")


def test_typing_translates_and_words_show_where_they_come_from(page: Page) -> None:
    translated(page)
    expect(page.locator("#count")).to_have_text(f"{len(TEXT)} / 100,000")
    word = page.locator("#target .word").nth(1)
    word.hover()
    detail = page.locator("#detail")
    expect(detail).to_contain_text(f"{word.inner_text()} ← ")
    marked = page.locator("#mirror mark").all_inner_texts()
    assert marked
    assert all(each in TEXT.split() for each in marked)
    assert page.locator("#mirror").inner_text().rstrip() == TEXT
    assert "%" in detail.inner_text()


def test_words_are_reached_by_the_keyboard(page: Page) -> None:
    translated(page)
    words = page.locator("#target .word")
    words.first.focus()
    expect(page.locator("#detail")).to_contain_text(words.nth(0).inner_text())
    page.keyboard.press("ArrowRight")
    expect(words.nth(1)).to_be_focused()
    expect(page.locator("#detail")).to_contain_text(words.nth(1).inner_text())
    page.keyboard.press("End")
    expect(words.last).to_be_focused()
    page.keyboard.press("Home")
    expect(words.first).to_be_focused()
    assert page.locator("#target [tabindex='0']").count() == 1


def test_another_translation_takes_the_first_rank(page: Page) -> None:
    translated(page)
    best = page.locator("#target").inner_text()
    other = page.locator("#alternatives button").first
    wanted = other.inner_text()
    other.click()
    assert page.locator("#target").inner_text() == wanted
    assert best in page.locator("#alternatives button").all_inner_texts()


def test_copy_and_swap(page: Page) -> None:
    translated(page)
    best = page.locator("#target").inner_text()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#copy")).to_have_text("Copied")
    page.get_by_role("button", name="Swap").click()
    if page.locator("#from").input_value() == "de":  # the server has that pair
        assert page.get_by_role("textbox", name="Text").input_value() == best
        assert page.locator("#to").input_value() == "en"
    else:
        expect(page.locator("#message")).to_contain_text("does not translate")


def test_requests_that_are_stale_are_aborted(page: Page) -> None:
    """The first answer comes late, and would show an older text."""
    delayed: list[Route] = []

    def handle(route: Route) -> None:
        if not delayed:
            delayed.append(route)
        else:
            route.continue_()

    page.route("**/translate", handle)
    source = page.get_by_role("textbox", name="Text")
    with page.expect_event("requestfailed"):
        source.fill("old")
        page.wait_for_timeout(600)
        source.fill("The new text.")
    expect(page.locator("#target .word").first).to_be_visible()


def test_markup_in_a_text_is_text(page: Page) -> None:
    translated(page, "<img src=x onerror=alert(1)> <b>garden</b>")
    assert page.locator("#target img, #target b, #mirror img, #alternatives img").count() == 0


def test_a_busy_server_is_asked_again(page: Page) -> None:
    answers = [
        lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "the server is busy"})
    ]
    page.route("**/translate", lambda route: answers.pop()(route) if answers else route.continue_())
    page.get_by_role("textbox", name="Text").fill(TEXT)
    expect(page.locator("#message")).to_have_text("the server is busy")
    expect(page.locator("#target .word").first).to_be_visible()
    expect(page.locator("#message")).to_have_text("")


def test_files_are_uploaded_where_the_server_translates_them(page: Page, server: str) -> None:
    if not page.request.get(f"{server}/frontend/settings").json()["filesTranslation"]:
        expect(page.locator("#file-form")).to_be_hidden()
        pytest.skip("the server does not translate files")
    page.locator("#from").select_option("en")
    page.get_by_label("Translate a file").set_input_files(
        {"name": "a.txt", "mimeType": "text/plain", "buffer": TEXT.encode()}
    )
    link = page.get_by_role("link", name="Download the translation")
    expect(link).to_be_visible()
    assert page.request.get(link.get_attribute("href")).text().strip()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    translated(page)
    found = Axe().run(page).response["violations"]
    assert not [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


def test_writing_from_right_to_left(page: Page) -> None:
    languages = [{"code": "en", "name": "English", "targets": ["ar"]}, {"code": "ar", "name": "Arabic", "targets": []}]
    page.route("**/languages", lambda route: route.fulfill(json=languages))
    page.route("**/translate", lambda route: route.fulfill(json=ARABIC))
    page.reload()
    page.get_by_role("textbox", name="Text").fill("red book")
    target = page.locator("#target")
    expect(target).to_have_attribute("dir", "rtl")
    expect(target).to_have_attribute("lang", "ar")
    words = target.locator(".word")
    words.first.focus()
    page.keyboard.press("ArrowLeft")
    expect(words.nth(1)).to_be_focused()
    assert words.nth(0).bounding_box()["x"] > words.nth(1).bounding_box()["x"]


ARABIC = {
    "translatedText": "كتاب أحمر",
    "detectedLanguage": {"confidence": 100, "language": "en"},
    "details": {
        "words": [
            {"text": "كتاب", "probability": 0.9, "start": 0, "end": 4, "source": [[4, 8]]},
            {"text": "أحمر", "probability": 0.4, "start": 5, "end": 9, "source": [[0, 3]]},
        ],
        "alternatives": [],
        "notices": [],
    },
}
