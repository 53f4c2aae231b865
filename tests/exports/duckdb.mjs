// SPDX-License-Identifier: MIT
// Asks DuckDB: node duckdb.mjs NODE_MODULES SQL...
// Prints a line of JSON for each query: {columns, rows}, values as text.
import { pathToFileURL } from "node:url";
import { join } from "node:path";
const [folder, ...queries] = process.argv.slice(2);
const { DuckDBInstance } =
	(await import(pathToFileURL(join(folder, "@duckdb/node-api/lib/index.js")))).default;
const connection = await (await DuckDBInstance.create(":memory:")).connect();
await connection.run("SET TimeZone = 'UTC'");
for (const query of queries) {
	const reader = await connection.runAndReadAll(query);
	const rows = reader.getRowsJson().map(row => row.map(value => value === null ? null : String(value)));
	console.log(JSON.stringify({ columns: reader.columnNames(), rows }));
}
