/** The error for invalid environment variables. */

/** Lists every bad variable, so that one start shows all of them. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration'

  constructor(problems: readonly string[]) {
    super(
      `The environment has ${problems.length === 1 ? 'a bad value' : `${problems.length} bad values`}:\n${problems.map((it) => `  ${it}`).join('\n')}`,
    )
  }
}
