// Package build turns the variants of a spec into artifacts: one shared object
// each, found in the cache or compiled by a pool over all cores.
//
//	b, err := build.New(build.Options{})
//	outcomes := b.Build(ctx, []build.Request{{Dir: s.Dir, Variant: v}})
//
// # What is in an artifact
//
// The user's source, compiled on its own in the spec's folder, and a shim that
// pawl writes: the door through which a cell runs any kernel without knowing its
// signature. The shim exports these symbols and the artifact exports no others,
// so that a user's function named like one of libc's is still the one called:
//
//	const int pawl_abi;                                  // ABI below
//	void pawl_run(void *const *slots, int64_t repeat);
//	void pawl_threads(int n);
//
// pawl_run calls the kernel's launches in order, the whole sequence repeat
// times. slots[i] belongs to the kernel's i-th argument, in file order whatever
// a launch's own order is: for a buffer it is the buffer's address, for a scalar
// the address of its value, aligned to its size. Buffers reach the entries as
// void *, scalars by value as float, double, or int8_t to uint64_t; the smaller
// floats, for which C has no common type, cannot be scalars. Entries are called
// as functions that return void.
//
// pawl_threads sets the number of OpenMP threads where OpenMP is linked, and does
// nothing elsewhere. What cleans caches and what tells the time is not here: it would
// lie within reach of the user's code (package core has it).
//
// # Key and code
//
// The key is the hash of what goes in: compiler, target, flags, defines, shim,
// and every file that the compiler read, by path and content. Which files those
// are is known only after compiling, so the cache keeps, per recipe, the lists
// of paths that earlier compilations looked for; a lookup hashes what is at those
// paths now. A list has what was not there too: every name that a file of the
// user's includes or asks for with __has_include, in each folder that is searched
// before the one where it was found, or in all of them. When such a file appears,
// the list does not hold any more. Folders of the compiler and the system do not
// count, and ccache, used where there is no sandbox, goes without its direct mode,
// which sees no new files. What was compiled without a sandbox, or with other
// folders in PAWL_BUILD_READ or variables in PAWL_BUILD_ENV, is found by such builds
// alone. What .incbin reads, GNU's assembler lists; with another one such a source is
// compiled anew every time. Precompiled headers are not used. The programs count, too:
// a script in a compiler's place by its text and by what it would start, and the host
// compiler of nvcc (identity.go). What the linker read counts as it lists it, and besides
// every file that a flag names, wherever in the word, since neither compiler nor linker
// lists profiles, version scripts and the like (named.go); a library also where it is
// not, in the folders that flags name before others. Unseen stay a header that newly
// shadows another where a macro gives the name (#include MACRO), and what the script of
// a linker that lists no inputs reads in its turn.
//
// The code is the hash of what came out: every section, and what the loader or the
// driver patches into it, by what that points to. Imported and exported names
// count. Left out is what only describes, by a short list of names and types: names
// of its own, notes, build ids, comments, and what debuggers read. A section that
// nobody knows counts. In a cubin the functions count that are launched, and not
// what they are called; in a launcher's shared object the device code is unpacked
// and hashed as a cubin, names included, since host code finds kernels by them.
// Equal code behaves equally; a host kernel is kept without what is never loaded, so
// that it could not read it either. Where the linker makes room for longer line tables of
// a launcher's device code, distances in the host code change, and the code with
// them, although nothing else did.
//
// A Python kernel is not compiled. Its code is the text of its module and of every file
// that its imports could come from (python_import.go), as python_scan.go finds them; the
// interpreter is asked which names are installed, since a file of the project goes before
// those (python_probe.go).
//
// # Sandbox
//
// Sources and flags may be a stranger's, so compilers run in a sandbox (package
// sandbox; main must call its EnterIfAsked). A fence says what one compiler may reach
// in one project: the repository without .git and .pawl, the toolchain's own folders
// (toolchain.go asks the compiler for them, once), the system's, and what
// PAWL_BUILD_READ names. Where the folder is another version's checkout, nothing of the
// user's own is read (checkout.go). command.finish is the one place that starts a compiler.
//
// # CUDA
//
// Kernels in .cu files become cubins for one architecture, by nvcc. Where there is
// none, or where PAWL_NVRTC names it, NVRTC compiles them, in a child of this process, if it is found (PAWL_NVRTC, CUDA_HOME,
// CUDA_PATH, the dynamic linker, /usr/local/cuda, packages of the Python on PATH)
// together with CUDA's headers. NVRTC knows only some of nvcc's flags and no headers
// of the host; a few of C are given to it. Nor does it say what it read, so the
// sources are searched for #include before every lookup: both branches of
// conditions count, and every file of a name on the search path. A file that
// appears where none was found before is therefore noticed. CUDA's own headers
// count by their folder and by size and time of cuda.h, not by content. A source
// with #include MACRO is compiled anew every time.
package build

// ABI is the version of the symbols that host artifacts export.
const ABI = 1

// LauncherABI is that of launchers: const int pawl_launcher_abi, and
// void pawl_launch(void *const *slots, void *stream).
const LauncherABI = 1
