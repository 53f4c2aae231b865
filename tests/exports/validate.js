// SPDX-License-Identifier: MIT
// Validates JSON by a JSON schema: node validate.js FOLDER-OF-AJV SCHEMA FILE...
"use strict";
const fs = require("fs");
const [folder, schema, ...files] = process.argv.slice(2);
const read = file => JSON.parse(fs.readFileSync(file, "utf8"));
const Ajv = require(folder);
const validate = new (Ajv.default || Ajv)({ strict: false, allErrors: false }).compile(read(schema));
for (const file of files) {
	if (validate(read(file))) continue;
	console.error(file, JSON.stringify(validate.errors));
	process.exitCode = 1;
}
