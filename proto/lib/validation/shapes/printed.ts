/** Controls how a shape is printed: by name, with a description, or without a check here. */
import type { Components, Shape } from "./base.ts";

/** A print-only shape; the code that reads the value checks it. */
export const printOnly = (shape: Shape): Shape => ({ check: () => {}, schema: shape.schema });

/** A shape printed as a separate definition. */
export const named = <S extends Shape>(name: string, shape: S): S => ({
  ...shape,
  schema: (components: Components) => {
    if (!components.has(name)) {
      // The name is registered first, so that a shape may contain itself.
      components.set(name, {});
      components.set(name, shape.schema(components));
    }
    return { $ref: `#/components/schemas/${name}` };
  },
});

/** A recursive shape. */
export const lazy = (shape: () => Shape): Shape => ({
  check: (value, path, problems, or) => shape().check(value, path, problems, or),
  schema: (components) => shape().schema(components),
});

/** A shape marked as out of use; it is still accepted. */
export const deprecated = <S extends Shape>(shape: S): S => ({
  ...shape,
  schema: (components: Components) => ({ ...shape.schema(components), deprecated: true }),
});

export const described = <S extends Shape>(shape: S, description: string): S => ({
  ...shape,
  schema: (components: Components) => ({ ...shape.schema(components), description }),
});
