/** The current configuration file and its catalogue. A reload replaces both; a turn continues with those of its beginning. */
import type { ConfigFile } from "@sluice/proto/config/config-file.js";
import { Catalog } from "../models/routing/catalog.ts";

export class CurrentConfig {
  #file: ConfigFile;
  #catalog: Catalog;

  constructor(file: ConfigFile) {
    this.#file = file;
    this.#catalog = new Catalog(file);
  }

  get file(): ConfigFile {
    return this.#file;
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  /** @param catalog of the same file */
  replace(file: ConfigFile, catalog: Catalog): void {
    this.#file = file;
    this.#catalog = catalog;
  }
}
