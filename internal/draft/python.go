package draft

// PythonExample is a complete pawl.yaml of a Python function, which nobody drafts.
const PythonExample = `version: 1
kernels:
  scale:
    python: "kernels:scale" # the function scale in kernels.py, beside pawl.yaml
    args:
      - {name: x, dtype: f32, shape: [N]} # arguments have the names of the function's parameters
      - {name: factor, dtype: f32, value: 2.0}
      - {name: y, dtype: f32, shape: [N], role: out} # returned, if it is no parameter
    oracle: {elementwise: factor * x} # the right answers; or {python: "refs:scale"}
configs:
  small: {N: 4096}
  large: {N: 4194304}
`
