/** The schemas of the document as TypedDicts; `_models.py` of the Python client is its output, and a test holds that. */
import type { OpenApi, Schema } from '../../api/schema/openapi.ts'

const MODELS = ['Candle', 'Token', 'Pool', 'PairSums', 'ListedPool', 'PoolList', 'Tick', 'Usage', 'Health'] as const

const HEADER = `"""Generated from /v0/openapi.json: \`npm test -- test/api/schema/reference -u\` updates it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict
`

export function pythonModels({ components: { schemas } }: OpenApi): string {
  const classes: string[] = []
  for (const name of MODELS) classOf(name, schemas[name] ?? {}, classes)
  return [HEADER, ...classes].join('\n\n')
}

/** Classes of members come before the class that has them. */
function classOf(name: string, { properties = {}, required = [], description }: Schema, classes: string[]): string {
  const members = Object.entries(properties).map(([member, schema]) => {
    const type = typeof schema === 'boolean' ? 'object' : typeOf(`${name}${capital(member)}`, schema, classes)
    return `    ${member}: ${required.includes(member) ? type : `NotRequired[${type}]`}`
  })
  const doc = description === undefined ? [] : [`    """${description}"""\n`]
  classes.push([`class ${name}(TypedDict):`, ...doc, ...members, ''].join('\n'))
  return name
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'str',
  number: 'float',
  integer: 'int',
  boolean: 'bool',
  null: 'None',
}

function typeOf(name: string, schema: Schema, classes: string[]): string {
  const of = (part: Schema | boolean | undefined) => (typeof part === 'object' ? typeOf(name, part, classes) : 'object')
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? ''
  if (schema.anyOf) return [...new Set(schema.anyOf.map(of))].join(' | ')
  if (schema.enum) return `Literal[${schema.enum.map((value) => JSON.stringify(value)).join(', ')}]`
  if (schema.type === 'array') return `list[${of(Array.isArray(schema.items) ? schema.items[0] : schema.items)}]`
  if (schema.type === 'object') return classOf(name, schema, classes)
  const types = [schema.type ?? []].flat()
  return types.map((type) => SCALARS[type] ?? 'object').join(' | ') || 'object'
}

function capital(text: string): string {
  return text
    .split('_')
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('')
}
