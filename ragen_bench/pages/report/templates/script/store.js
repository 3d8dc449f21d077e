// The episodes: an index, and compressed chunks that are unpacked on demand.

const CACHED_CHUNKS = 12;

async function unpack(block) {
  const packed = atob(block.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

class Store {
  static async open() {
    return new Store(await unpack(byId("index")), document.querySelectorAll("script.chunk"));
  }

  constructor(index, blocks) {
    this.blocks = blocks;
    this.chunks = new Map(); // the most recently used last
    this.envs = index.envs;
    this.outcomes = index.outcomes;
    this.labels = index.labels;
    this.prompt = index.prompt;
    this.rows = index.rows.map(([env, index_, sample, outcome, label, turns, gained, chunk, place]) => ({
      env: this.envs[env],
      index: index_,
      sample,
      outcome: this.outcomes[outcome],
      label: this.labels[label] ?? "",
      turns,
      gained,
      chunk,
      place,
    }));
    this.byKey = new Map(this.rows.map((row) => [keyOf(row), row]));
  }

  find(env, index, sample) {
    return this.byKey.get(keyOf({ env, index, sample }));
  }

  async episode(row) {
    return (await this.chunk(row.chunk))[row.place];
  }

  // Returns all episodes of a chunk. The cache holds promises, so that a chunk is unpacked once.
  chunk(number) {
    const chunk = this.chunks.get(number) ?? unpack(this.blocks[number]);
    this.chunks.delete(number);
    this.chunks.set(number, chunk);
    if (this.chunks.size > CACHED_CHUNKS) this.chunks.delete(this.chunks.keys().next().value);
    return chunk;
  }
}

const keyOf = (row) => `${row.env}/${row.index}/${row.sample}`;
