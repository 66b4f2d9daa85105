/** Kinds of values that several variables have. */
import { z } from 'zod'

/** Comma separated. */
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)
