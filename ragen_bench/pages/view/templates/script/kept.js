// What a tab keeps while another of its pages is open: filters and ticks.

const KEPT = "ragen-view";

function keep(name, value) {
  tryStorage(() => sessionStorage.setItem(`${KEPT}-${name}`, JSON.stringify(value)));
}

const kept = (name) => JSON.parse(tryStorage(() => sessionStorage.getItem(`${KEPT}-${name}`)) ?? "null");
