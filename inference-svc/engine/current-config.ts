/** The current configuration file and its catalogue. A reload replaces both; a running turn keeps the ones it began with. */
import type { ConfigFile } from "@sluice/proto/config/config-file.js";
import { Catalog } from "../models/routing/catalog.ts";

export class CurrentConfig {
  file: ConfigFile;
  /** The catalogue built from the configuration file. */
  catalog: Catalog;

  constructor(file: ConfigFile) {
    this.file = file;
    this.catalog = new Catalog(file);
  }
}
