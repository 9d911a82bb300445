package disk // want "package disk has no comment"

func Lock() {} // want "exported function Lock has no comment"

// Opens a lock. want "the comment on function Unlock begins with"
func Unlock() {}

// A DiskLock repeats the name of the package.
type DiskLock struct{} // want "others write disk.DiskLock"

func (DiskLock) Free() {} // want "exported method Free has no comment"

func (DiskLock) String() string { return "" }

const ( // without a comment of its own
	Shared    = 1 // want "exported const Shared has no comment"
	Exclusive = 2
)

var One, Two = 1, 2 // want "exported var One has no comment" "var Two has no declaration of its own"

// DiskSize repeats it, too.
func DiskSize() {} // want "others write disk.DiskSize: call it Size"
