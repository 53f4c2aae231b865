// SPDX-License-Identifier: MIT
// Reads Parquet files by hyparquet: node hyparquet.mjs NODE_MODULES FILE...
// Prints a line of JSON for each file: {columns, rows}, numbers as text.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [folder, ...files] = process.argv.slice(2);
const load = path => import(pathToFileURL(join(folder, path)));
const { asyncBufferFromFile, parquetMetadataAsync, parquetRead } = await load("hyparquet/src/node.js");
const { compressors } = await load("hyparquet-compressors/src/index.js");
const parsers = { timestampFromNanoseconds: nanoseconds => nanoseconds };
const plain = value => value === null || value === undefined ? null : String(value);
for (const path of files) {
	const file = await asyncBufferFromFile(path);
	const metadata = await parquetMetadataAsync(file, { parsers });
	const columns = metadata.schema.slice(1).map(column => column.name);
	const rows = [];
	await parquetRead({ file, metadata, compressors, parsers, utf8: false,
		onComplete: found => { for (const row of found) rows.push(row.map(plain)); } });
	if (BigInt(rows.length) !== metadata.num_rows) throw new Error(path + ": rows " + rows.length);
	console.log(JSON.stringify({ columns, rows }));
}
