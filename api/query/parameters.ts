/** Parses and validates query strings: one error lists every bad parameter. */
import { z } from 'zod'
import { MAX_TEXT } from '../../ingest/pools/token.ts'
import { type FieldError, Problem } from '../lib/problem.ts'

/** The decoded query string; a repeated name keeps all of its values. */
export type RawParameters = ReadonlyMap<string, readonly string[]>

export function parseParameters(query: string): RawParameters {
  const parameters = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(query)) {
    const values = parameters.get(name)
    if (values === undefined) parameters.set(name, [value])
    else values.push(value)
  }
  return parameters
}

/** UTF-16 units, checked before parsing: two of the longest symbols, of two units a code point, and a hyphen. */
export const MAX_TEXT_LENGTH = 4 * MAX_TEXT + 1

/** JSON Schema keywords of a parameter: every text that `read` accepts is valid, and little else. */
export type Notation = {
  type?: 'integer'
  pattern?: string
  minimum?: number
  maximum?: number
  default?: number
  examples: readonly (string | number)[]
}

/** A parameter with its parser; a text for which `read` returns undefined is reported with the rule, and with the suggestion of `near`. */
export function field<T>(
  rule: string,
  read: (text: string) => T | undefined,
  notation: Notation,
  near: (text: string) => string | undefined = () => undefined,
) {
  return z
    .string({ error: `required: ${rule}` })
    .meta({ ...(notation.type === undefined && { maxLength: MAX_TEXT_LENGTH }), ...notation, rule })
    .transform((text, context): T => {
      const value = read(text)
      if (value !== undefined) return value
      const meant = near(text)
      const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
      context.addIssue({ code: 'custom', message: `must be ${rule}${hint}` })
      return z.NEVER
    })
}

/** A rule over several parameters, such as “one of symbol and pool”. `given` has all parameters; a malformed one is ''. */
export type JointRule = (given: ReadonlyMap<string, string>) => readonly FieldError[]

/** Unknown parameters are ignored; known ones must be given once, flat, not empty and not too long. Throws `invalid_parameters`. */
export function readQuery<Shape extends z.ZodObject>(
  shape: Shape,
  parameters: RawParameters,
  joint: JointRule = () => [],
): z.output<Shape> {
  const errors: FieldError[] = []
  const values: Record<string, string> = {}
  const given = new Map<string, string>()
  for (const [written, texts] of parameters) {
    const name = written.replace(/[[.].*$/s, '')
    if (!Object.hasOwn(shape.shape, name)) continue
    const [text = ''] = texts
    if (name !== written) errors.push({ field: name, message: `must be written as ${name}=…, not nested` })
    else if (given.has(name) || texts.length > 1) errors.push({ field: name, message: 'must be given once' })
    else if (text.length > MAX_TEXT_LENGTH)
      errors.push({ field: name, message: `must have at most ${MAX_TEXT_LENGTH} characters` })
    else if (text.trim() === '') errors.push({ field: name, message: 'must not be empty' })
    else values[name] = text
    given.set(name, values[name] ?? '')
  }
  const malformed = new Set(errors.map((error) => error.field))
  const result = shape.safeParse(values)
  for (const issue of result.error?.issues ?? []) {
    const name = String(issue.path[0] ?? 'query')
    if (!malformed.has(name)) errors.push({ field: name, message: issue.message })
  }
  errors.push(...joint(given))
  if (result.success && errors.length === 0) return result.data
  throw invalidParameters(errors)
}

export function invalidParameters(errors: readonly FieldError[]): Problem {
  const facts = errors.map((error) => `${error.field} ${error.message}`).join('; ')
  return new Problem('invalid_parameters', `The question can't be answered as it is asked: ${facts}.`, { errors })
}

export function parametersOf(req: { url: string }): RawParameters {
  const at = req.url.indexOf('?')
  return parseParameters(at === -1 ? '' : req.url.slice(at + 1))
}
