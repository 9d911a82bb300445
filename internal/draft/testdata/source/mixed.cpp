#include <vector>
namespace detail {
template <typename T> void helper(T *x, int n) { x[0] = n; }
void inner(float *x, int n) {}
}
class Thing {
 public:
  void method(float *x, int n) { x[0] = n; }
};
void Thing_free(float *x, int n) noexcept { x[0] = n; }
void by_reference(const std::vector<float> &x, float *y) {}
extern "C" {
void relu(const float *__restrict x, float *__restrict y, std::size_t n) {
  auto f = [&](float v) { return v > 0 ? v : 0; };
  for (std::size_t i = 0; i < n; i++) y[i] = f(x[i]);
}
}
extern "C" __attribute__((visibility("default"))) void softmax(const float *in, float *out, int rows, int cols) {
  const char *raw = R"x(void fake(float *p) { )" )x";
}
