/** Runs pieces of work one after the other, in the order of the calls; a failed one does not stop those after it. */
export function serial(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const run = last.then(work)
    last = run.catch(() => undefined)
    return run
  }
}
