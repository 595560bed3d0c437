/** Features of the stack that check and download addresses in requests, without being plugins. */
export { imageDownloads } from "./image-urls.ts";
export { passedAddresses } from "./passed-addresses.ts";
