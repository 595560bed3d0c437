/** How a shape stands in the document: under a name, with a description, or printed here and checked elsewhere. */
import type { Components, Shape } from "./base.ts";

/** Printed, and checked elsewhere: by whoever reads the value. */
export const elsewhere = (shape: Shape): Shape => ({ check: () => {}, schema: shape.schema });

/** A definition of its own in the document. */
export const named = <S extends Shape>(name: string, shape: S): S => ({
  ...shape,
  schema: (components: Components) => {
    if (!components.has(name)) {
      // Held first, so that a shape may contain itself.
      components.set(name, {});
      components.set(name, shape.schema(components));
    }
    return { $ref: `#/components/schemas/${name}` };
  },
});

/** A shape that refers to itself. */
export const lazy = (shape: () => Shape): Shape => ({
  check: (value, path, problems, or) => shape().check(value, path, problems, or),
  schema: (components) => shape().schema(components),
});

export const described = <S extends Shape>(shape: S, description: string): S => ({
  ...shape,
  schema: (components: Components) => ({ ...shape.schema(components), description }),
});
