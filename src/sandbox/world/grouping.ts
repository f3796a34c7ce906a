import { UndirectedGraph } from 'graphology';
import communities from 'graphology-communities-louvain';
import type { Random } from '../random.js';

/** The least similarity of neighbors. With less, two occurrences of one kind would merge. */
const THRESHOLD = 0.5;
const NEIGHBOURS = 6;
/** The first components of a random projection are a random projection, too, and enough to find candidates. */
const SKETCH = 128;
const SKETCH_THRESHOLD = 0.3;

// The package is CommonJS with ESM-style types: its `default` is the module itself here.
const louvain = communities as unknown as typeof communities.default;

/**
 * Groups vectors by Louvain community detection over the graph of each vector's nearest neighbors. Returns the positions
 * of the members of each group. Every position is in exactly one group.
 */
export function groupBySimilarity(vectors: readonly (readonly number[])[], random: Random): number[][] {
  const graph = new UndirectedGraph();
  vectors.forEach((_, index) => {
    graph.addNode(index);
  });
  nearestNeighbours(vectors).forEach((neighbours, index) => {
    for (const { other, cosine } of neighbours) graph.mergeEdge(index, other, { weight: cosine });
  });
  const groups = new Map<number, number[]>();
  for (const [node, label] of Object.entries(louvain(graph, { rng: random.float, resolution: 1.5 }))) {
    const members = groups.get(label);
    if (members) members.push(Number(node));
    else groups.set(label, [Number(node)]);
  }
  return [...groups.values()];
}

function nearestNeighbours(vectors: readonly (readonly number[])[]) {
  const full = vectors.map(vector => Float64Array.from(vector));
  const sketches = full.map(sketch);
  const neighbours = full.map(() => [] as { other: number; cosine: number }[]);
  sketches.forEach((a, index) => {
    for (let other = index + 1; other < sketches.length; other++) {
      if (dot(a, sketches[other] as Float64Array) < SKETCH_THRESHOLD) continue;
      const cosine = dot(full[index] as Float64Array, full[other] as Float64Array);
      if (cosine < THRESHOLD) continue;
      neighbours[index]?.push({ other, cosine });
      neighbours[other]?.push({ other: index, cosine });
    }
  });
  return neighbours.map(found => found.sort((a, b) => b.cosine - a.cosine).slice(0, NEIGHBOURS));
}

function sketch(vector: Float64Array): Float64Array {
  const head = vector.subarray(0, SKETCH);
  const length = Math.sqrt(dot(head, head)) || 1;
  return head.map(component => component / length);
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
