// Reads the examples in the comments of a source.

/** The code of every `@example`, without the stars in front of its lines. */
export function commentExamples(source) {
  const comments = [...source.matchAll(/\/\*\*[\s\S]*?\*\//g)].map(([comment]) =>
    comment
      .replace(/^\/\*\*|\*\/$/g, '')
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, ''))
      .join('\n'),
  )
  const tags = comments.flatMap((text) => text.split(/^ ?@(?=[a-z])/m).slice(1))
  // A decorator is written with a backslash, because a comment would take it for a tag.
  return tags
    .filter((tag) => tag.startsWith('example'))
    .map((tag) => tag.slice('example'.length).trim().replaceAll('\\@', '@'))
}

/** The names of the values and types that a source exports. */
export function exportsOf(source) {
  const made = source.matchAll(/^export (?:declare )?(?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm)
  const lists = source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)
  const listed = [...lists].flatMap(([, names]) =>
    names.split(',').map((name) => name.trim().replace(/^type |^.* as /g, '')),
  )
  return [...new Set([...[...made].map(([, name]) => name), ...listed])].filter((name) => /^\w+$/.test(name))
}
