/** The entries of the stack that belong to no plugin. */
export { imageDownloads } from "./image-urls.ts";
export { passedAddresses } from "./passed-addresses.ts";
