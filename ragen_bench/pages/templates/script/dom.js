// Helpers that make elements. Text is inserted as text, never parsed as HTML.

const byId = (id) => document.getElementById(id);

// make("p", {class: "note"}, "text", element): attributes by name; a function is a listener.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

const words = (name) => String(name).replaceAll("_", " ");
const shortName = (env) => env.slice(env.lastIndexOf("/") + 1);
const pluralize = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Formats a reward or return with its sign, rounded to the six decimals of the records.
function formatSigned(number) {
  if (typeof number !== "number") return String(number);
  const text = String(Math.abs(Math.round(number * 1e6) / 1e6));
  return text === "0" ? "0" : `${number < 0 ? "\u2212" : "+"}${text}`;
}
