/** The stack entries outside of plugins. */
export { imageDownloads } from "./image-urls.ts";
export { passedAddresses } from "./passed-addresses.ts";
