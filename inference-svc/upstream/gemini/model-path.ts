/** The part of a path that names a model. Names with a collection in them, such as tunedModels/mine, are used as they are. */
export const modelPath = (name: string): string => (name.includes("/") ? name : `models/${encodeURIComponent(name)}`);
