/** The part of a path that names the model. Names that contain a collection, such as tunedModels/mine, are used unchanged. */
export const modelPath = (name: string): string => (name.includes("/") ? name : `models/${encodeURIComponent(name)}`);
