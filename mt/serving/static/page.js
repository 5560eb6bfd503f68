// Translates while one types. A word of the translation shows how probable it is and which words it comes from.

const PAUSE_MILLISECONDS = 250; // without a keystroke before the text is sent
const MOST_ALTERNATIVES = 2;
const DOUBTFUL = 0.5; // less probable words are underlined too
const RIGHT_TO_LEFT = /^(ar|ckb|dv|fa|he|iw|ps|sd|ug|ur|yi)\b/i;

const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((each) => [each.id, each]));

let languages = [];
let settings = {};
let request = new AbortController();
let timer = 0;
let translated = null; // the text that is translated, its language, and the translations, the one that is shown first

async function ask(path, values, signal) {
  const body = values && JSON.stringify({ ...values, api_key: page.key.value });
  const sent = values && { method: "POST", headers: { "Content-Type": "application/json" }, body };
  const response = await fetch(path, { ...sent, signal });
  const found = await response.json().catch(() => ({}));
  if (response.ok) return found;
  const retrySeconds = response.status === 503 ? Number(response.headers.get("Retry-After")) : 0;
  throw Object.assign(new Error(found.error ?? `The server answers ${response.status}.`), { retrySeconds });
}

// ------------------------------------------------------------------ translating

function changed(milliseconds = PAUSE_MILLISECONDS) {
  request.abort();
  clearTimeout(timer);
  timer = setTimeout(translate, milliseconds);
  mark([]);
  const length = [...page.source.value].length;
  const limit = settings.charLimit > 0 ? settings.charLimit : Infinity;
  page.count.textContent = length.toLocaleString() + (limit < Infinity ? ` / ${limit.toLocaleString()}` : "");
  page.count.classList.toggle("over", length > limit);
}

async function translate() {
  request = new AbortController();
  const { signal } = request;
  const text = page.source.value;
  page.message.textContent = "";
  if (!text.trim()) return forget();
  page.target.setAttribute("aria-busy", "true");
  try {
    const alternatives = Math.min(MOST_ALTERNATIVES, settings.alternatives ?? 0);
    const asked = { q: text, source: page.from.value, target: page.to.value, alternatives, details: true };
    const found = await ask("translate", asked, signal);
    const versions = [found.translatedText, ...(found.alternatives ?? [])];
    const words = [found.details.words, ...found.details.alternatives];
    translated = { text, language: asked.target, versions: versions.map((each, i) => ({ text: each, words: words[i] })) };
    detected(found.detectedLanguage);
    const messages = new Set(found.details.notices.map((each) => each.message));
    page.notices.replaceChildren(...[...messages].map((each) => element("li", each)));
    show();
  } catch (error) {
    if (signal.aborted) return; // another request is on its way
    page.message.textContent = error.message;
    if (error.retrySeconds) timer = setTimeout(translate, 1000 * error.retrySeconds);
  }
  page.target.removeAttribute("aria-busy");
}

function forget() {
  translated = null;
  detected(null);
  page.target.removeAttribute("aria-busy");
  for (const each of [page.target, page.notices, page.alternatives, page.detail]) each.replaceChildren();
  page.copy.disabled = true;
}

function detected(found) {
  const automatic = page.from.value === "auto" && found;
  page.from.options[0].text = automatic ? `Detected: ${nameOf(found.language)}` : "Detect language";
  page.source.lang = automatic ? found.language : page.from.value === "auto" ? "" : page.from.value;
  page.source.dir = page.mirror.dir = page.source.lang ? directionOf(page.source.lang) : "auto";
}

// ------------------------------------------------------------------ showing

function element(name, text, properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties });
}

function show() {
  const [best, ...others] = translated.versions;
  page.target.lang = page.alternatives.lang = translated.language;
  page.target.dir = page.alternatives.dir = directionOf(translated.language);
  page.target.replaceChildren(...pieces(best.text, best.words, wordOf));
  page.target.querySelector(".word")?.setAttribute("tabindex", "0");
  page.alternatives.replaceChildren(
    ...others.map((version) => {
      const item = element("li", "");
      item.append(element("button", version.text, { type: "button", title: "Use this translation", onclick: () => prefer(version) }));
      return item;
    }),
  );
  page.copy.disabled = !best.text;
  page.detail.textContent = "";
}

function prefer(version) {
  translated.versions = [version, ...translated.versions.filter((each) => each !== version)];
  show();
  page.target.querySelector(".word")?.focus();
}

// The text as strings and as what `make` makes of each part; positions count code points.
function pieces(text, parts, make) {
  const characters = [...text];
  const cut = (start, end) => characters.slice(start, end).join("");
  let position = 0;
  const found = parts.flatMap((part, number) => {
    const between = cut(position, part.start);
    position = part.end;
    return [between, make(cut(part.start, part.end), part, number)];
  });
  return [...found, cut(position)];
}

function wordOf(text, word, number) {
  const span = element("span", text, { className: word.probability < DOUBTFUL ? "word doubtful" : "word", tabIndex: -1 });
  span.dataset.number = number;
  span.style.setProperty("--unsure", 1 - word.probability);
  return span;
}

function mark(spans) {
  const inOrder = spans.map(([start, end]) => ({ start, end })).sort((one, other) => one.start - other.start);
  page.mirror.replaceChildren(...pieces(page.source.value, inOrder, (text) => element("mark", text)), "\n");
  for (const each of page.target.querySelectorAll(".linked")) each.classList.remove("linked");
}

// ------------------------------------------------------------------ from word to word

function point(span) {
  if (!span || translated?.text !== page.source.value) return;
  const word = translated.versions[0].words[span.dataset.number];
  mark(word.source);
  span.classList.add("linked");
  const characters = [...translated.text];
  const origin = word.source.map(([start, end]) => characters.slice(start, end).join("")).join(" ");
  page.detail.textContent = `${word.text}${origin && ` ← ${origin}`} · ${Math.round(100 * word.probability)} %`;
}

function unpoint() {
  mark([]);
  page.detail.textContent = "";
  point(document.activeElement.closest?.("#target .word"));
}

function move(event) {
  const words = [...page.target.querySelectorAll(".word")];
  const now = words.indexOf(event.target);
  const ahead = page.target.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const steps = { ArrowLeft: -1, ArrowRight: -1, Home: -words.length, End: words.length, [ahead]: 1 };
  if (now < 0 || !(event.key in steps)) return;
  event.preventDefault();
  words[now].tabIndex = -1;
  const next = words[Math.min(words.length - 1, Math.max(0, now + steps[event.key]))];
  next.tabIndex = 0;
  next.focus();
}

// The words of the translation that come from the word at the cursor.
function followCursor() {
  if (document.activeElement !== page.source || translated?.text !== page.source.value) return;
  const position = [...page.source.value.slice(0, page.source.selectionStart)].length;
  const words = translated.versions[0].words;
  for (const span of page.target.querySelectorAll(".word")) {
    const here = words[span.dataset.number].source.some(([start, end]) => start <= position && position <= end);
    span.classList.toggle("linked", here);
  }
}

// ------------------------------------------------------------------ languages

const nameOf = (code) => languages.find((each) => each.code === code)?.name ?? code;
const directionOf = (code) => (RIGHT_TO_LEFT.test(code) ? "rtl" : "ltr");
const targetsOf = (code) => languages.filter((each) => code === "auto" || each.code === code).flatMap((each) => each.targets);

function fill(select, codes, chosen) {
  select.replaceChildren(...codes.map((code) => element("option", code === "auto" ? "Detect language" : nameOf(code), { value: code })));
  select.value = codes.includes(chosen) ? chosen : codes[0];
}

function fillTargets(chosen = page.to.value) {
  fill(page.to, [...new Set(targetsOf(page.from.value))], chosen);
  detected(null);
}

function swap() {
  const language = page.from.value === "auto" ? page.source.lang || settings.language.source.code : page.from.value;
  const [before, text] = [page.to.value, translated?.versions[0].text];
  if (!targetsOf(before).includes(language)) {
    page.message.textContent = `This server does not translate from ${nameOf(before)} to ${nameOf(language)}.`;
    return;
  }
  page.from.value = before;
  fillTargets(language);
  if (text !== undefined) page.source.value = text;
  changed(0);
}

// ------------------------------------------------------------------ copy and files

async function copy() {
  try {
    await navigator.clipboard.writeText(page.target.textContent);
  } catch {
    getSelection().selectAllChildren(page.target); // without TLS there is no clipboard
    document.execCommand("copy");
  }
  page.copy.textContent = "Copied";
  setTimeout(() => (page.copy.textContent = "Copy"), 2000);
}

function upload() {
  const [file] = page.file.files;
  if (!file) return;
  const form = new FormData();
  const values = { file, source: page.from.value, target: page.to.value, api_key: page.key.value };
  for (const [name, value] of Object.entries(values)) form.append(name, value);
  page.message.textContent = "";
  page.download.hidden = true;
  page.progress.hidden = false;
  const sending = new XMLHttpRequest(); // fetch does not say how much is sent
  sending.responseType = "json";
  sending.upload.onprogress = ({ loaded, total }) => (page.progress.value = loaded / total);
  sending.upload.onload = () => page.progress.removeAttribute("value"); // it is being translated
  sending.onloadend = () => {
    page.progress.hidden = true;
    const address = sending.response?.translatedFileUrl;
    if (address) page.download.href = `download_file/${address.split("/").at(-1)}`; // a proxy may have other addresses
    else page.message.textContent = sending.response?.error ?? "The file could not be translated.";
    page.download.hidden = !address;
    page.file.value = "";
  };
  sending.open("POST", "translate_file");
  sending.send(form);
}

// ------------------------------------------------------------------ beginning

async function begin() {
  [languages, settings] = await Promise.all([ask("languages"), ask("frontend/settings")]);
  const sources = languages.filter((each) => each.targets.length).map((each) => each.code);
  fill(page.from, ["auto", ...sources], sources.length > 1 ? "auto" : sources[0]);
  fillTargets(settings.language.target.code);
  page["key-row"].hidden = !settings.keyRequired;
  page["file-form"].hidden = !settings.filesTranslation;
  page.file.accept = settings.supportedFilesFormat.join();
  page.source.addEventListener("input", () => changed());
  page.from.addEventListener("change", () => (fillTargets(), changed(0)));
  page.to.addEventListener("change", () => changed(0));
  page.key.addEventListener("change", () => changed(0));
  page.target.addEventListener("pointerover", (event) => point(event.target.closest(".word")));
  page.target.addEventListener("pointerout", unpoint);
  page.target.addEventListener("focusin", (event) => (mark([]), point(event.target.closest(".word"))));
  page.target.addEventListener("focusout", unpoint);
  page.target.addEventListener("keydown", move);
  document.addEventListener("selectionchange", followCursor);
  page.swap.addEventListener("click", swap);
  page.copy.addEventListener("click", copy);
  page.file.addEventListener("change", upload);
  changed(0);
}

begin().catch((error) => (page.message.textContent = error.message));
