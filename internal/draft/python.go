package draft

// PythonExample is a complete pawl.yaml of a Python function, which nobody drafts. A terminal of 80
// columns shows it in whole lines: it is there to be copied.
const PythonExample = `version: 1
kernels:
  scale:
    python: "kernels:scale" # the function scale in kernels.py, beside pawl.yaml
    args: # with the names of the function's parameters
      - {name: x, dtype: f32, shape: [N]}
      - {name: factor, dtype: f32, value: 2.0}
      - {name: y, dtype: f32, shape: [N], role: out} # returned, if no parameter
    oracle: {elementwise: factor * x} # right answers; or {python: "refs:scale"}
configs:
  small: {N: 4096}
  large: {N: 4194304}
`
