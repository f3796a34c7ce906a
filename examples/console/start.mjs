import { fileURLToPath } from 'node:url';
import './build.mjs';

// `npm run console` in the folder of the gateway: builds the console, then becomes the gateway that serves it.
const here = fileURLToPath(new URL('.', import.meta.url));
process.env.STATIC_DIR = `${here}dist`;
process.env.PERSISTED_DOCUMENTS = `${here}src/gql/persisted-documents.json`;
process.env.PERSISTED_DOCUMENTS_MODE ??= 'allow';
await import('../../dist/main.js');
