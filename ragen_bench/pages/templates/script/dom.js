// Making elements. Text goes in as text only: nothing a model said is ever read as HTML.

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
const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Rewards and returns with their sign; six digits are what the record keeps.
function signed(number) {
  if (typeof number !== "number") return String(number);
  const text = String(Math.abs(Math.round(number * 1e6) / 1e6));
  return text === "0" ? "0" : `${number < 0 ? "\u2212" : "+"}${text}`;
}
