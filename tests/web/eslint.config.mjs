// SPDX-License-Identifier: MIT
// What the page's modules are held to, beside their types (tsconfig.json).
export default [{
	files: ["**/*.js"],
	linterOptions: { reportUnusedDisableDirectives: "error" },
	rules: {
		"no-control-regex": "error", "no-unused-vars": ["error", { varsIgnorePattern: "^_$", argsIgnorePattern: "^_" }], "no-var": "error", "prefer-const": ["error", { destructuring: "all" }],
		"eqeqeq": "error", "no-eval": "error", "no-implied-eval": "error", "no-new-func": "error", "no-shadow-restricted-names": "error",
		"no-unreachable": "error", "no-dupe-keys": "error", "no-dupe-else-if": "error", "no-fallthrough": "error", "no-self-assign": "error",
		"no-unsafe-finally": "error", "no-constant-condition": "error", "no-import-assign": "error", "use-isnan": "error", "no-redeclare": "error",
		"no-console": "error", "no-alert": "error", "max-depth": ["error", 4], "complexity": ["error", 26],
		"max-lines-per-function": ["error", { max: 60, skipComments: true }],
		// Names come from programs that can be hostile: nothing makes markup of text.
		"no-restricted-properties": ["error", { property: "innerHTML" }, { property: "outerHTML" }, { property: "insertAdjacentHTML" },
			{ object: "document", property: "write" }],
	},
}];
