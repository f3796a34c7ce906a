import { reader, text } from '../ui';

/** Filter of the exports, as it stands in the address. */
export const exportSearch = reader({ endpoint: text });
