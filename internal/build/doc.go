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
// pawl_threads sets the number of OpenMP threads where OpenMP is linked, and does nothing
// elsewhere. The functions that clean caches and read the clock are not here, because the user's
// code could reach them; package core has them.
//
// # Key and code
//
// The key is the hash of the inputs: compiler, target, flags, defines, shim, and every file that
// the compiler read, by path and content. Which files the compiler reads is known only after
// compiling. So the cache keeps, per recipe, the lists of paths that earlier compilations looked
// for, and a lookup hashes the files that are at those paths now. A list also has the paths where
// no file was: every name that a file of the user's includes or asks for with __has_include, in
// each folder that is searched before the one where it was found, or in all of them. When such a
// file appears, the list no longer holds. Folders of the compiler and the system do not count.
// ccache, used where there is no sandbox, runs without its direct mode, which sees no new files.
//
// An artifact that was compiled without a sandbox, or with other folders in PAWL_BUILD_READ or
// other variables in PAWL_BUILD_ENV, is found by such builds alone. GNU's assembler lists the files
// that .incbin reads; with another assembler such a source is compiled anew every time. Precompiled
// headers are not used.
//
// The programs count, too: a script in a compiler's place counts by its text and by the program
// that it would start, and so does the host compiler of nvcc (identity.go). The files that the
// linker read count as it lists them. Every file that a flag names counts besides, wherever in the
// word the name stands, since neither compiler nor linker lists profiles, version scripts and the
// like (named.go). A library also counts where it is absent, in the folders that flags name before
// others. Two inputs stay unseen: a header that newly shadows another where a macro gives the name
// (#include MACRO), and the files that the script of a linker reads if the linker lists no inputs.
//
// The code is the hash of the output: every section, and the places that the loader or the driver
// patches, by what they point to. Imported and exported names count. Parts that only describe are
// left out, by a short list of names and types: local names, notes, build ids, comments, and debug
// information. An unknown section counts. In a launcher's shared object the device code is unpacked and hashed as a cubin, names
// included, since host code finds kernels by name. Equal code behaves equally. A host kernel is
// stored without the sections that are never loaded, so that it could not read them either. Where
// the linker makes room for longer line tables of a launcher's device code, distances in the host
// code change, and the code hash with them, although nothing else did.
//
// Of a cubin the launched functions count, but not their names and not the other kernels of the file
// (code_entry.go): the functions' own sections and records, those of every function that they refer
// to, and all that belongs to no function, such as variables, constants and their initial values.
// The order of functions, and where the driver puts them, do not count. A cubin counts as a whole
// where a function may be called that no relocation shows, or where a section or a record is
// unknown; Artifact.WholeFile says why.
//
// A Python kernel is not compiled. Its code is the text of its module and of every file that its
// imports could come from (python_import.go), as python_scan.go finds them. The interpreter is
// asked which names are installed, since a file of the project takes precedence over an installed
// one (python_probe.go).
//
// # Sandbox
//
// Sources and flags may come from a stranger, so compilers run in a sandbox (package sandbox; main
// must call its EnterIfAsked). A fence lists what one compiler may reach in one project: the
// repository without .git and .pawl, the toolchain's own folders (toolchain.go asks the compiler
// for them, once), the system's folders, and the paths in PAWL_BUILD_READ. Where the folder is
// another version's checkout, no file of the user's own is read (checkout.go). command.finish is
// the only function that starts a compiler.
//
// # CUDA
//
// nvcc compiles kernels in .cu files to cubins for one architecture. Where nvcc is missing, or
// where PAWL_NVRTC names it, NVRTC compiles them in a child of this process, if NVRTC is found
// (PAWL_NVRTC, CUDA_HOME, CUDA_PATH, the dynamic linker, /usr/local/cuda, packages of the Python on
// PATH) together with CUDA's headers. NVRTC knows only some of nvcc's flags and no host headers;
// pawl gives it a few C headers. NVRTC does not list the files that it read, so the sources are
// searched for #include before every lookup: both branches of conditions count, and every file of
// that name on the search path. A file that appears where none was found before is therefore
// noticed. CUDA's own headers count by their folder and by the size and time of cuda.h, not by
// content. A source with #include MACRO is compiled anew every time.
package build

// ABI is the version of the symbols that host artifacts export.
const ABI = 1

// LauncherABI is that of launchers: const int pawl_launcher_abi, and
// void pawl_launch(void *const *slots, void *stream).
const LauncherABI = 1
