#include <cuda_runtime.h>
#define G __global__ void
#define I int i=blockIdx.x*blockDim.x+threadIdx.x
typedef float F; typedef const float*__restrict__ P;
G load_bad(F*y,P x,int n){I;int r=n/4096;y[i]=x[(i%r)*4096+i/r];}
G copy_ok(F*y,P x,int n){I;y[i]=x[i];}
G copy4_ok(float4*y,const float4*__restrict__ x,int n){I;y[i]=x[i];}
G store_bad(F*y,P x,int n){I;int r=n/4096;y[(i%r)*4096+i/r]=x[i];}
template<int W>__device__ void tr(F*y,P x){__shared__ F t[32*W];int a=threadIdx.x%32,b=threadIdx.x/32;F s=0;for(int k=0;k<64;k++){for(int j=b;j<32;j+=8)t[j*W+a]=x[j*32+a]+k;__syncthreads();for(int j=b;j<32;j+=8)s+=t[a*W+j];__syncthreads();}I;y[i]=s;}
G bank_bad(F*y,P x){tr<32>(y,x);} G bank_ok(F*y,P x){tr<33>(y,x);}
template<int N>__device__ void sp(F*y,P x,int n){I;F a[N];for(int j=0;j<N;j++)a[j]=x[(i+j*64)%n];for(int k=0;k<16;k++){
#pragma unroll
for(int j=0;j<N;j++)a[j]=a[j]*a[(j*7+3)%N]+k;}F s=0;for(int j=0;j<N;j++)s+=a[j];y[i]=s;}
G __launch_bounds__(256,8)spill_bad(F*y,P x,int n){sp<64>(y,x,n);} G __launch_bounds__(256)spill_ok(F*y,P x,int n){sp<64>(y,x,n);}
G lat(F*y,P x,int n){I;unsigned s=i;F a=0;for(int k=0;k<32;k++){a+=x[s&(n-1)];s=s*1664525u+__float_as_int(a)%3+1013904223u;}y[i]=a;}
G sum_rows(F*y,P x,int n){F s=0;for(int j=blockIdx.x*blockDim.x+threadIdx.x;j<n;j+=gridDim.x*blockDim.x)s+=x[j];atomicAdd(y+threadIdx.x,s);}
G imbal(F*y,P x,int n){F s=0;int m=blockIdx.x<132?20000:200;for(int k=0;k<m;k++)s=s*1.0001f+x[threadIdx.x];I;y[i]=s;}
G l2_bad(F*y,P x,int n){I;F s=0;for(int k=0;k<64;k++)s+=x[(i+k*65536)&(2*1048576-1)];y[i]=s;}
G redun(F*y,P x,int n){I;F s=0;for(int k=0;k<4;k++)s+=__ldcv(x+((i+k*(n/4))&(n-1)));y[i]=s;}
G barr(F*y,P x){__shared__ F t[1024];F s=0;for(int k=0;k<200;k++){t[threadIdx.x]=s+k;__syncthreads();s+=t[threadIdx.x^33];__syncthreads();}I;y[i]=s;}
G diver(F*y,P x){I;F s=x[i];for(int k=0;k<64;k++)switch(threadIdx.x%32){
#define C(j) case j:for(int q=0;q<8;q++)s=s*1.0##j##f+q;break;
C(0)C(1)C(2)C(3)C(4)C(5)C(6)C(7)C(8)C(9)C(10)C(11)C(12)C(13)C(14)C(15)default:s+=1;}y[i]=s;}
G atom_bad(F*y,P x){I;atomicAdd(y+(i&3),x[i]);}
G dbl_bad(F*y,P x){I;F s=x[i];for(int k=0;k<256;k++)s=s*1.0001+0.5;y[i]=s;} G flt_ok(F*y,P x){I;F s=x[i];for(int k=0;k<256;k++)s=s*1.0001f+0.5f;y[i]=s;}
G sfu_bad(F*y,P x){I;F s=x[i];for(int k=0;k<256;k++)s=__sinf(s);y[i]=s;}
G gemm_bad(F*c,P a,P b){__shared__ F A[32][32],B[32][32];int x=threadIdx.x,y=threadIdx.y,r=blockIdx.y*32+y,q=blockIdx.x*32+x;F s=0;for(int k=0;k<1024;k+=32){A[y][x]=a[r*1024+k+x];B[y][x]=b[(k+y)*1024+q];__syncthreads();for(int j=0;j<32;j++)s+=A[y][j]*B[j][x];__syncthreads();}c[r*1024+q]=s;}
G fma_roof(F*y,P x){I;F s[8];for(int j=0;j<8;j++)s[j]=x[i]+j;for(int k=0;k<2048;k++)
#pragma unroll
for(int j=0;j<8;j++)s[j]=s[j]*1.0001f+0.5f;F r=0;for(int j=0;j<8;j++)r+=s[j];y[i]=r;}
G icache(F*y,P x){I;F s=x[i];int w=threadIdx.x/32;for(int k=0;k<20;k++){
#define R4(a) a a a a
#define L(o) s=s*(1.f+w)+o+s*s;
R4(R4(R4(R4(R4(R4(L(k))))))) }y[i]=s;}
G tiny(F*y,P x){I;y[i]=x[i]+1;}
int main(){int n=1<<26;F*x,*y;cudaMalloc(&x,4ll*n);cudaMalloc(&y,4ll*n);cudaMemset(x,0,4ll*n);int b=n/256,m=1<<20;
cudaFuncSetAttribute(lat,cudaFuncAttributeMaxDynamicSharedMemorySize,100<<10);
for(int r=0;r<3;r++){load_bad<<<b,256>>>(y,x,n);copy_ok<<<b,256>>>(y,x,n);copy4_ok<<<b/4,256>>>((float4*)y,(float4*)x,n);store_bad<<<b,256>>>(y,x,n);bank_bad<<<4096,256>>>(y,x);bank_ok<<<4096,256>>>(y,x);
spill_bad<<<4096,256>>>(y,x,m);spill_ok<<<4096,256>>>(y,x,m);lat<<<2112,256,100<<10>>>(y,x,n);lat<<<2112,256>>>(y,x,n);sum_rows<<<16,256>>>(y,x,n);sum_rows<<<2112,256>>>(y,x,n);imbal<<<2112,256>>>(y,x,n);
l2_bad<<<16384,256>>>(y,x,n);redun<<<b,256>>>(y,x,n);barr<<<2112,1024>>>(y,x);diver<<<4096,256>>>(y,x);atom_bad<<<4096,256>>>(y,x);dbl_bad<<<8192,256>>>(y,x);flt_ok<<<8192,256>>>(y,x);sfu_bad<<<8192,256>>>(y,x);
gemm_bad<<<dim3(32,32),dim3(32,32)>>>(y,x,x+m);fma_roof<<<4224,256>>>(y,x);fma_roof<<<1056+8,256>>>(y,x);icache<<<2112,256>>>(y,x);tiny<<<8,256>>>(y,x);}return cudaDeviceSynchronize();}
