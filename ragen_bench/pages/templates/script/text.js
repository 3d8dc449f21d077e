// Text of a model or game: long text is cut, invisible characters are shown by code point.

const MAX_CHARACTERS = 20000;
const MAX_MARKS = 500;

// Control and format characters (which can reverse or hide the text around them), other line
// separators, private-use characters and lone surrogates; but not tab, newline and the joiners.
const INVISIBLE = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

function escapeInvisible(text) {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `\u27e8U+${code}\u27e9`;
  });
}

// Returns a case-insensitive pattern for a literal query; null if the query is empty.
function makePattern(query) {
  if (!query) return null;
  return new RegExp(query.replace(/[\\^$.*+?()[\]|\/{}]/g, "\\$&"), "giu");
}

// Appends text to an element and highlights the pattern's matches.
function appendText(element, text, pattern) {
  let end = 0;
  let marks = 0;
  for (const found of pattern ? text.matchAll(pattern) : []) {
    if (++marks > MAX_MARKS) break;
    element.append(escapeInvisible(text.slice(end, found.index)), make("mark", {}, escapeInvisible(found[0])));
    end = found.index + found[0].length;
  }
  element.append(escapeInvisible(text.slice(end)));
}

// Returns a block of text. Long text is cut, with a button that shows all of it.
function drawText(text, pattern, style = "") {
  const block = make("pre", { class: `quote ${style}`, dir: "auto" });
  let excerpt = text;
  if (text.length > MAX_CHARACTERS) {
    excerpt = text.slice(0, MAX_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
    if (pattern && text.search(pattern) >= excerpt.length) excerpt = text;
  }
  appendText(block, excerpt, pattern);
  if (excerpt.length === text.length) return [block];
  const label = `Show all ${text.length.toLocaleString("en")} characters`;
  const more = make("button", { type: "button", class: "more" }, label);
  more.addEventListener("click", () => {
    block.replaceChildren();
    appendText(block, text, pattern);
    more.remove();
  });
  return [block, more];
}
