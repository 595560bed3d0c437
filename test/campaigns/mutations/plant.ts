/** A transformer of Jest that plants a fault in a module when the tests load it. The compiled files stay unchanged. */
import type { PlantedFault } from "./faults.ts";

interface Options {
  readonly transformerConfig: PlantedFault;
}

/** @throws unless the code occurs in the module exactly once */
export function plant(source: string, { module, code, faulty }: PlantedFault): string {
  const pieces = source.split(code);
  if (pieces.length !== 2) throw new Error(`${module}.js has this code ${pieces.length - 1} times: ${code}`);
  return pieces.join(faulty);
}

export default {
  process: (source: string, _path: string, { transformerConfig }: Options) => ({
    code: plant(source, transformerConfig),
  }),
};
