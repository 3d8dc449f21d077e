// What a model or a game said, shown as what it is: long texts in part, odd characters by name.

const SHOWN_CHARACTERS = 20000;
const SHOWN_MARKS = 500;

// Control and format characters (which can reverse or hide the text around them), line ends of
// other systems, private ones and lone surrogates; not tab, newline and the two joiners of scripts.
const ODD = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

function visible(text) {
  return text.replace(ODD, (odd) => {
    const code = odd.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `\u27e8U+${code}\u27e9`;
  });
}

// A pattern that finds the words as they stand, in capitals or not; null for no words.
function patternOf(query) {
  if (!query) return null;
  return new RegExp(query.replace(/[\\^$.*+?()[\]|\/{}]/g, "\\$&"), "giu");
}

// Append a text to an element, with what the pattern finds marked.
function appendText(element, text, pattern) {
  let end = 0;
  let marks = 0;
  for (const found of pattern ? text.matchAll(pattern) : []) {
    if (++marks > SHOWN_MARKS) break;
    element.append(visible(text.slice(end, found.index)), make("mark", {}, visible(found[0])));
    end = found.index + found[0].length;
  }
  element.append(visible(text.slice(end)));
}

// A block of text, cut if it is long, with a button for all of it.
function said(text, pattern, style = "") {
  const block = make("pre", { class: `said ${style}`, dir: "auto" });
  let shown = text;
  if (text.length > SHOWN_CHARACTERS) {
    shown = text.slice(0, SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
    if (pattern && text.search(pattern) >= shown.length) shown = text;
  }
  appendText(block, shown, pattern);
  if (shown.length === text.length) return [block];
  const label = `Show all ${text.length.toLocaleString("en")} characters`;
  const more = make("button", { type: "button", class: "more" }, label);
  more.addEventListener("click", () => {
    block.replaceChildren();
    appendText(block, text, pattern);
    more.remove();
  });
  return [block, more];
}
