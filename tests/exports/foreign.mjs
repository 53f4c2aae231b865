// SPDX-License-Identifier: MIT
// Reads requests to servers of profiles by what others have generated of these servers' own definitions:
//   node foreign.mjs NODE_MODULES parca FILE            Parca's web client: JSON of /profiles/writeraw
//   node foreign.mjs NODE_MODULES otlp FILE SCHEMA      protobufjs, with otlp_schema.py's description
// Prints what it has read as JSON; a field that the definition does not have ends it with an error.
import { readFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
const [folder, kind, file, schema] = process.argv.slice(2);

async function parca() {
	// The package has modules that do not say that they are, and import others without their endings.
	register("data:text/javascript," + encodeURIComponent(`
		export const resolve = (name, context, next) =>
			next(name, context).catch(() => next(name + ".js", context));
		export const load = (url, context, next) =>
			next(url, url.includes("@parca/client/dist") ? { ...context, format: "module" } : context);`));
	const { WriteRawRequest } = await import(pathToFileURL(join(folder,
		"@parca/client/dist/parca/profilestore/v1alpha1/profilestore.js")));
	const request = WriteRawRequest.fromJson(JSON.parse(readFileSync(file, "utf8")), { ignoreUnknownFields: false });
	return request.series.map(({ labels, samples }) => ({
		labels: Object.fromEntries(labels.labels.map(({ name, value }) => [name, value])),
		profiles: samples.map(({ rawProfile }) => Buffer.from(rawProfile).toString("base64")),
	}));
}

function otlp() {
	const protobuf = createRequire(join(folder, "x.js"))("protobufjs");
	const { request: name, ...description } = JSON.parse(readFileSync(schema, "utf8"));
	const Request = protobuf.Root.fromJSON(description).lookupType(name);
	const bytes = readFileSync(file);
	const request = Request.decode(bytes);
	const wrong = Request.verify(request);
	if (wrong) throw new Error(wrong);
	// What it does not know is lost on the way there and back.
	if (Buffer.compare(bytes, Buffer.from(Request.encode(request).finish()))) throw new Error("other bytes");
	return Request.toObject(request, { longs: String, bytes: String });
}

console.log(JSON.stringify(kind === "parca" ? await parca() : otlp()));
