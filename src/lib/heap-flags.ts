// Prints the flags that `npm start` gives to Node, because the size of a heap is chosen when its process starts.
import { heapFlags } from './heap.js';

process.stdout.write(heapFlags().join(' '));
