/** The error text for a requested engine missing from the configuration. @param name empty or auto means the default engine */
export const explainMissingEngine = (name: string): string =>
  name === "" || name === "auto"
    ? "needs an engine in search.engines of the configuration file"
    : `needs search.engines.${name} in the configuration file`;
