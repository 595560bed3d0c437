/** Path of the built-in catalogue, relative to inference-svc/dist/assembly; it is found from a bundle as well. */
export const seedFile = new URL("../../models/catalog/seed.json", import.meta.url);
