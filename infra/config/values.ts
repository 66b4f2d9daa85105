/** Kinds of values that several variables have. */
import { z } from 'zod'

/** Comma separated. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)

/** A list of at least one. */
export const listOf = <Item extends z.ZodType<unknown, string>>(item: Item, ifEmpty: string) =>
  list.pipe(z.array(item).nonempty(ifEmpty))

export const matching = (pattern: RegExp, rule: string) => z.string().regex(pattern, rule)

/** `pattern` takes digits only. */
export const numberUpTo = (max: number, pattern: RegExp, rule: string) =>
  matching(pattern, rule)
    .transform(Number)
    .refine((it) => it <= max, rule)
