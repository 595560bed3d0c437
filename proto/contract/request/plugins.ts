/** The plugins of a request. */
import { isObject } from "../../lib/validation/fields.ts";
import { array, childPath, named, tagged } from "../../lib/validation/shape.ts";
import { pluginContracts } from "../plugins/plugins.ts";

export const plugins = array(
  named(
    "Plugin",
    tagged(
      "id",
      Object.fromEntries(
        Object.entries(pluginContracts).map(([id, { shape, descriptor }]) => [id, named(descriptor.name, shape)]),
      ),
      {
        called: "plugin",
      },
    ),
  ),
  {
    // Two plugins with the same id could contradict each other, and one of them would be silently ignored.
    also: (entries, path, problems) => {
      const before = new Set<unknown>();
      for (const [index, entry] of entries.entries()) {
        const id = isObject(entry) ? entry["id"] : undefined;
        if (before.has(id)) problems.add(childPath(path, index), `plugin ${String(id)} is given twice`);
        if (typeof id === "string" && Object.hasOwn(pluginContracts, id)) before.add(id);
      }
    },
  },
);
